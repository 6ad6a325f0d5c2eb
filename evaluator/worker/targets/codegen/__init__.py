"""The target ``codegen:<card>``: Inductor generates code for a graphics card that is not there.

The workload runs on the CPU with real data, through the real Dynamo, guards and AOTAutograd; each graph is handed
to Inductor as one of the card's, and its generated Triton kernels are built for the card and never launched.
"""
