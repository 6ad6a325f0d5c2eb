"""What Inductor says of a kernel, and kernels built for a card that is not there: a probe of its own, a row each.

Revision 0005, after 0004. Column meanings are with the models; triggers and comments are put on after every upgrade.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from db.migrations.rebuild import altered

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")


def upgrade() -> None:
    """Add the columns of kernel, NULL for what is there; the probe build; and the table kernel_build."""
    with altered("kernel") as batch:
        for name in ("form", "launch_hash"):
            batch.add_column(sa.Column(name, sa.String()))
        for name in ("calls", "loads", "stores", "reductions"):
            batch.add_column(sa.Column(name, sa.Integer()))
        batch.add_column(sa.Column("bytes_moved", ROW_ID))
    with altered("probe") as batch:
        batch.drop_constraint(op.f("ck_probe_probe_word"), type_="check")
        batch.create_check_constraint(
            op.f("ck_probe_probe_word"),
            "probe IN ('compile', 'walk', 'accuracy', 'timing', 'memory', 'build')",
        )
    op.create_table(
        "kernel_build",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("probe_id", ROW_ID, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("source_sha256", sa.String()),
        sa.Column("arch", sa.String()),
        sa.Column("config", JSON),
        sa.Column("configs", sa.Integer()),
        sa.Column("registers", sa.Integer()),
        sa.Column("spill_stores", sa.Integer()),
        sa.Column("spill_loads", sa.Integer()),
        sa.Column("stack", sa.Integer()),
        sa.Column("shared", sa.Integer()),
        sa.Column("static_shared", sa.Integer()),
        sa.Column("ptx_bytes", sa.Integer()),
        sa.Column("cubin_bytes", sa.Integer()),
        sa.Column("sass_hash", sa.String()),
        sa.Column("compile_s", sa.Float()),
        sa.Column("cached", sa.Boolean()),
        sa.Column("triton", sa.String()),
        sa.Column("ptxas", sa.String()),
        sa.Column("error", sa.String()),
        sa.ForeignKeyConstraint(
            ["probe_id"], ["probe.id"], name=op.f("fk_kernel_build_probe_id_probe"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["source_sha256"],
            ["artifact.sha256"],
            name=op.f("fk_kernel_build_source_sha256_artifact"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_kernel_build")),
    )
    op.create_index(op.f("ix_kernel_build_probe_id"), "kernel_build", ["probe_id"])
    op.create_index(op.f("ix_kernel_build_source_sha256"), "kernel_build", ["source_sha256"])
