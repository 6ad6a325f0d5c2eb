"""What ran in a profiled batch: the probe profile, kernels with copies and sets, and operators, a row a name.

Revision 0006, after 0005. Column meanings are with the models; triggers and comments are put on after every upgrade.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from db.migrations.rebuild import altered

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the probe profile and the tables observed_kernel and observed_operator."""
    with altered("probe") as batch:
        batch.drop_constraint(op.f("ck_probe_probe_word"), type_="check")
        batch.create_check_constraint(
            op.f("ck_probe_probe_word"),
            "probe IN ('compile', 'walk', 'accuracy', 'timing', 'memory', 'build', 'profile')",
        )
    op.create_table(
        "observed_kernel",
        *_of_a_mode("observed_kernel"),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("launches", sa.Integer(), nullable=False),
        sa.Column("device_ms", sa.Float(), nullable=False),
        sa.Column("registers", sa.Integer()),
        sa.Column("spills", sa.Integer()),
        sa.Column("occupancy", sa.Float()),
        sa.CheckConstraint("kind IN ('kernel', 'copy', 'set')", name=op.f("ck_observed_kernel_kind_word")),
    )
    op.create_table(
        "observed_operator",
        *_of_a_mode("observed_operator"),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("host_ms", sa.Float(), nullable=False),
        sa.Column("kernels", sa.Integer()),
    )
    for table in ("observed_kernel", "observed_operator"):
        op.create_index(op.f(f"ix_{table}_probe_id"), table, ["probe_id"])


def _of_a_mode(table: str) -> list[sa.Column[object] | sa.Constraint]:
    return [
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("probe_id", ROW_ID, nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.CheckConstraint("mode IN ('eager', 'compiled')", name=op.f(f"ck_{table}_mode_word")),
        sa.ForeignKeyConstraint(
            ["probe_id"], ["probe.id"], name=op.f(f"fk_{table}_probe_id_probe"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{table}")),
    ]
