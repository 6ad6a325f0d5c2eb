"""What runs share: machines, environments, artifacts, workloads and their cells.

Revision 0001, the first. Column meanings are with the models; triggers and comments are put on after every upgrade.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "artifact",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("size", ROW_ID, nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_artifact")),
    )
    op.create_table(
        "environment",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("torch_version", sa.String()),
        sa.Column("torch_git", sa.String()),
        sa.Column("torch_cuda", sa.String()),
        sa.Column("triton_version", sa.String()),
        sa.Column("python_version", sa.String()),
        sa.Column("gpu", sa.String()),
        sa.Column("gpu_capability", sa.String()),
        sa.Column("driver", sa.String()),
        sa.Column("cpu_model", sa.String()),
        sa.Column("fields", JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_environment")),
        sa.UniqueConstraint("hash", name=op.f("uq_environment_hash")),
    )
    op.create_table(
        "machine",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("cpu_model", sa.String()),
        sa.Column("cpu_count", sa.Integer()),
        sa.Column("memory_mb", sa.Double()),
        sa.Column("os", sa.String()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_machine")),
    )
    op.create_table(
        "workload",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("definition_hash", sa.String(), nullable=False),
        sa.Column("stands_for", sa.String()),
        sa.Column("origin", sa.String()),
        sa.Column("form", sa.String()),
        sa.Column("training", sa.Boolean()),
        sa.Column("grad", sa.Boolean()),
        sa.Column("calls", sa.Integer()),
        sa.Column("requires", sa.String()),
        sa.Column("repeats", sa.Integer()),
        sa.Column("precision", sa.String()),
        sa.Column("tolerance", JSON),
        sa.Column("variables", JSON),
        sa.Column("libraries", JSON),
        sa.Column("tags", JSON),
        sa.Column("problem", sa.String()),
        sa.Column("source_sha256", sa.String()),
        sa.ForeignKeyConstraint(
            ["source_sha256"],
            ["artifact.sha256"],
            name=op.f("fk_workload_source_sha256_artifact"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workload")),
        sa.UniqueConstraint("name", "definition_hash", name=op.f("uq_workload_name_definition_hash")),
    )
    op.create_index(op.f("ix_workload_name"), "workload", ["name"])
    op.create_index(op.f("ix_workload_source_sha256"), "workload", ["source_sha256"])
    op.create_table(
        "bucket",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("workload_id", ROW_ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("position", sa.Integer()),
        sa.Column("params", JSON, nullable=False),
        sa.ForeignKeyConstraint(
            ["workload_id"], ["workload.id"], name=op.f("fk_bucket_workload_id_workload"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bucket")),
        sa.UniqueConstraint("workload_id", "name", name=op.f("uq_bucket_workload_id_name")),
    )
    op.create_table(
        "variant",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("workload_id", ROW_ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("position", sa.Integer()),
        sa.Column("options", JSON, nullable=False),
        sa.Column("evidence_only", sa.Boolean(), nullable=False),
        sa.Column("requires", sa.String()),
        sa.ForeignKeyConstraint(
            ["workload_id"],
            ["workload.id"],
            name=op.f("fk_variant_workload_id_workload"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_variant")),
        sa.UniqueConstraint("workload_id", "name", name=op.f("uq_variant_workload_id_name")),
    )
    op.create_table(
        "cell",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("bucket_id", ROW_ID, nullable=False),
        sa.Column("variant_id", ROW_ID, nullable=False),
        sa.Column("target", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["bucket_id"], ["bucket.id"], name=op.f("fk_cell_bucket_id_bucket"), ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(
            ["variant_id"], ["variant.id"], name=op.f("fk_cell_variant_id_variant"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cell")),
        sa.UniqueConstraint(
            "bucket_id", "variant_id", "target", name=op.f("uq_cell_bucket_id_variant_id_target")
        ),
    )
    op.create_index(op.f("ix_cell_variant_id"), "cell", ["variant_id"])
