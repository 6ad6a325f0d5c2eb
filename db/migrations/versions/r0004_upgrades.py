"""What a run is for and which run it belongs to, so that an upgrade's stages are found; the noise of a machine.

Revision 0004, after 0003. Column meanings are with the models; triggers and comments are put on after every upgrade.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from db.migrations.rebuild import altered

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")


def upgrade() -> None:
    """Add the columns of run, whose rows were all plain evaluations, and the table noise."""
    with altered("run") as batch:
        batch.add_column(sa.Column("purpose", sa.String(), nullable=False, server_default="evaluate"))
        batch.add_column(sa.Column("parent_uuid", sa.String()))
        batch.create_check_constraint(
            op.f("ck_run_purpose_word"),
            "purpose IN ('evaluate', 'upgrade', 'confirm', 'explain', 'calibrate', 'nightly')",
        )
        batch.create_index(op.f("ix_run_parent_uuid"), ["parent_uuid"])
    op.create_table(
        "noise",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("run_id", ROW_ID, nullable=False),
        sa.Column("cell_id", ROW_ID, nullable=False),
        sa.Column("environment_id", ROW_ID, nullable=False),
        sa.Column("metric", sa.String(), nullable=False),
        sa.Column("replicas", sa.Integer(), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("between_sd", sa.Float(), nullable=False),
        sa.Column("within_sd", sa.Float()),
        sa.Column("replica_values", JSON, nullable=False),
        sa.ForeignKeyConstraint(
            ["cell_id"], ["cell.id"], name=op.f("fk_noise_cell_id_cell"), ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(
            ["environment_id"],
            ["environment.id"],
            name=op.f("fk_noise_environment_id_environment"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_noise_run_id_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_noise")),
        sa.UniqueConstraint(
            "run_id",
            "cell_id",
            "environment_id",
            "metric",
            name=op.f("uq_noise_run_id_cell_id_environment_id_metric"),
        ),
    )
    op.create_index(op.f("ix_noise_cell_id"), "noise", ["cell_id"])
    op.create_index(op.f("ix_noise_environment_id"), "noise", ["environment_id"])
