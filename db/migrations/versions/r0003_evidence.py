"""What the compiler did and how right the result was: facts, breaks, recompiles, kernels, accuracy, summaries.

Revision 0003, after 0002. Column meanings are with the models; triggers and comments are put on after every upgrade.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "facts",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("evaluation_id", ROW_ID, nullable=False),
        sa.Column("probe_id", ROW_ID),
        sa.Column("graphs", sa.Integer()),
        sa.Column("ops", sa.Integer()),
        sa.Column("graph_breaks", sa.Integer()),
        sa.Column("break_events", sa.Integer()),
        sa.Column("compiles", sa.Integer()),
        sa.Column("recompiles", sa.Integer()),
        sa.Column("recompile_limit_hit", sa.Boolean()),
        sa.Column("ran_eager", sa.String()),
        sa.Column("second_walk_compiles", sa.Integer()),
        sa.Column("cache_hits", sa.Integer()),
        sa.Column("cache_misses", sa.Integer()),
        sa.Column("cache_bypasses", sa.Integer()),
        sa.Column("backward_graphs", sa.Integer()),
        sa.Column("dynamic_symbols", sa.Integer()),
        sa.Column("reused_code", sa.Boolean()),
        sa.Column("nothing_compiled", sa.Boolean()),
        sa.Column("extra", JSON),
        sa.CheckConstraint("ran_eager IN ('none', 'some', 'all')", name=op.f("ck_facts_ran_eager_word")),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluation.id"],
            name=op.f("fk_facts_evaluation_id_evaluation"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["probe_id"], ["probe.id"], name=op.f("fk_facts_probe_id_probe"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_facts")),
        sa.UniqueConstraint("evaluation_id", name=op.f("uq_facts_evaluation_id")),
    )
    op.create_index(op.f("ix_facts_probe_id"), "facts", ["probe_id"])
    op.create_table(
        "summary",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("evaluation_id", ROW_ID, nullable=False),
        sa.Column("metric", sa.String(), nullable=False),
        sa.Column("replicas", sa.Integer(), nullable=False),
        sa.Column("samples", sa.Integer(), nullable=False),
        sa.Column("median", sa.Float(), nullable=False),
        sa.Column("lo", sa.Float()),
        sa.Column("hi", sa.Float()),
        sa.Column("min", sa.Float(), nullable=False),
        sa.Column("max", sa.Float(), nullable=False),
        sa.Column("replica_numbers", JSON, nullable=False),
        sa.Column("replica_medians", JSON, nullable=False),
        sa.Column("eager_medians", JSON),
        sa.Column("flags", JSON),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluation.id"],
            name=op.f("fk_summary_evaluation_id_evaluation"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_summary")),
        sa.UniqueConstraint("evaluation_id", "metric", name=op.f("uq_summary_evaluation_id_metric")),
    )
    op.create_table(
        "graph_break",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("probe_id", ROW_ID, nullable=False),
        sa.Column("reason", sa.String()),
        sa.Column("break_id", sa.String()),
        sa.Column("explanation", sa.String()),
        sa.Column("hints", JSON),
        sa.Column("file", sa.String()),
        sa.Column("line", sa.Integer()),
        sa.Column("function", sa.String()),
        sa.Column("inherited", sa.Boolean(), nullable=False),
        sa.Column("events", sa.Integer()),
        sa.Column("compile_id", sa.String()),
        sa.ForeignKeyConstraint(
            ["probe_id"], ["probe.id"], name=op.f("fk_graph_break_probe_id_probe"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_graph_break")),
    )
    op.create_index(op.f("ix_graph_break_probe_id"), "graph_break", ["probe_id"])
    op.create_table(
        "recompile",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("probe_id", ROW_ID, nullable=False),
        sa.Column("reason", sa.String()),
        sa.Column("guard", sa.String()),
        sa.Column("file", sa.String()),
        sa.Column("line", sa.Integer()),
        sa.Column("function", sa.String()),
        sa.Column("frame", sa.String()),
        sa.Column("compile_id", sa.String()),
        sa.ForeignKeyConstraint(
            ["probe_id"], ["probe.id"], name=op.f("fk_recompile_probe_id_probe"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recompile")),
    )
    op.create_index(op.f("ix_recompile_probe_id"), "recompile", ["probe_id"])
    op.create_table(
        "kernel",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("probe_id", ROW_ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("kind", sa.String()),
        sa.Column("source_hash", sa.String()),
        sa.Column("graph", sa.String()),
        sa.Column("origin", sa.String()),
        sa.Column("source_sha256", sa.String()),
        sa.ForeignKeyConstraint(
            ["probe_id"], ["probe.id"], name=op.f("fk_kernel_probe_id_probe"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["source_sha256"],
            ["artifact.sha256"],
            name=op.f("fk_kernel_source_sha256_artifact"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_kernel")),
    )
    op.create_index(op.f("ix_kernel_probe_id"), "kernel", ["probe_id"])
    op.create_index(op.f("ix_kernel_source_hash"), "kernel", ["source_hash"])
    op.create_index(op.f("ix_kernel_source_sha256"), "kernel", ["source_sha256"])
    op.create_table(
        "accuracy",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("probe_id", ROW_ID, nullable=False),
        sa.Column("series", sa.String(), nullable=False),
        sa.Column("verdict", sa.String()),
        sa.Column("max_abs", sa.Float()),
        sa.Column("max_rel", sa.Float()),
        sa.Column("rmse_fp64", sa.Float()),
        sa.Column("eager_rmse_fp64", sa.Float()),
        sa.Column("reason", sa.String()),
        sa.Column("details", JSON),
        sa.CheckConstraint("series IN ('default', 'fallback_random')", name=op.f("ck_accuracy_series_word")),
        sa.CheckConstraint(
            "verdict IN ('pass', 'fail', 'not_comparable')", name=op.f("ck_accuracy_verdict_word")
        ),
        sa.ForeignKeyConstraint(
            ["probe_id"], ["probe.id"], name=op.f("fk_accuracy_probe_id_probe"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accuracy")),
        sa.UniqueConstraint("probe_id", "series", name=op.f("uq_accuracy_probe_id_series")),
    )
    op.create_table(
        "difference",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("probe_id", ROW_ID, nullable=False),
        sa.Column("leaf", sa.String()),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("eager", sa.String()),
        sa.Column("compiled", sa.String()),
        sa.ForeignKeyConstraint(
            ["probe_id"], ["probe.id"], name=op.f("fk_difference_probe_id_probe"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_difference")),
    )
    op.create_index(op.f("ix_difference_probe_id"), "difference", ["probe_id"])
