"""Runs, the servers they start, the cells they evaluate, every probe and sample; the pruning gate.

Revision 0002, after 0001. Column meanings are with the models; triggers and comments are put on after every upgrade.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
JSON = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "pruning",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("run_uuid", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("opened_at", TIME, nullable=False),
        sa.Column("closed_at", TIME),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pruning")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_pruning_run_uuid"), "pruning", ["run_uuid"])
    op.create_table(
        "run",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("uuid", sa.String(), nullable=False),
        sa.Column("label", sa.String()),
        sa.Column("profile", sa.String()),
        sa.Column("machine_id", sa.String(), nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("finished_at", TIME),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("argv", JSON, nullable=False),
        sa.Column("plan", JSON, nullable=False),
        sa.Column("evaluator_version", sa.String()),
        sa.CheckConstraint(
            "status IN ('running', 'finished', 'interrupted')", name=op.f("ck_run_status_word")
        ),
        sa.ForeignKeyConstraint(
            ["machine_id"], ["machine.id"], name=op.f("fk_run_machine_id_machine"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint("uuid", name=op.f("uq_run_uuid")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_run_label"), "run", ["label"])
    op.create_index(op.f("ix_run_machine_id"), "run", ["machine_id"])
    op.create_index(op.f("ix_run_started_at"), "run", ["started_at"])
    op.create_table(
        "replica",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("run_id", ROW_ID, nullable=False),
        sa.Column("environment_id", ROW_ID, nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("server", sa.String()),
        sa.Column("started_at", TIME),
        sa.Column("conditions", JSON),
        sa.ForeignKeyConstraint(
            ["environment_id"],
            ["environment.id"],
            name=op.f("fk_replica_environment_id_environment"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_replica_run_id_run"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_replica")),
        sa.UniqueConstraint(
            "run_id",
            "environment_id",
            "number",
            "server",
            name=op.f("uq_replica_run_id_environment_id_number_server"),
        ),
    )
    op.create_index(op.f("ix_replica_environment_id"), "replica", ["environment_id"])
    op.create_table(
        "environment_sample",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("run_id", ROW_ID, nullable=False),
        sa.Column("environment_id", ROW_ID, nullable=False),
        sa.Column("replica_id", ROW_ID, nullable=False),
        sa.Column("metric", sa.String(), nullable=False),
        sa.Column("value", sa.Float()),
        sa.Column("flags", JSON),
        sa.ForeignKeyConstraint(
            ["environment_id"],
            ["environment.id"],
            name=op.f("fk_environment_sample_environment_id_environment"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["replica_id"],
            ["replica.id"],
            name=op.f("fk_environment_sample_replica_id_replica"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_environment_sample_run_id_run"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_environment_sample")),
        sa.UniqueConstraint("replica_id", "metric", name=op.f("uq_environment_sample_replica_id_metric")),
    )
    op.create_index(op.f("ix_environment_sample_environment_id"), "environment_sample", ["environment_id"])
    op.create_index(op.f("ix_environment_sample_run_id"), "environment_sample", ["run_id"])
    op.create_table(
        "evaluation",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("uuid", sa.String(), nullable=False),
        sa.Column("run_id", ROW_ID, nullable=False),
        sa.Column("cell_id", ROW_ID, nullable=False),
        sa.Column("environment_id", ROW_ID, nullable=False),
        sa.Column("status", sa.String()),
        sa.Column("reason", sa.String()),
        sa.CheckConstraint(
            "status IN ('crashed', 'out_of_memory', 'timeout', 'setup_error', 'compile_error', 'runtime_error', 'accuracy_failed', 'unsupported', 'skipped', 'not_comparable', 'ok')",
            name=op.f("ck_evaluation_status_word"),
        ),
        sa.ForeignKeyConstraint(
            ["cell_id"], ["cell.id"], name=op.f("fk_evaluation_cell_id_cell"), ondelete="RESTRICT"
        ),
        sa.ForeignKeyConstraint(
            ["environment_id"],
            ["environment.id"],
            name=op.f("fk_evaluation_environment_id_environment"),
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_evaluation_run_id_run"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluation")),
        sa.UniqueConstraint(
            "run_id", "cell_id", "environment_id", name=op.f("uq_evaluation_run_id_cell_id_environment_id")
        ),
        sa.UniqueConstraint("uuid", name=op.f("uq_evaluation_uuid")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_evaluation_cell_id"), "evaluation", ["cell_id"])
    op.create_index(op.f("ix_evaluation_environment_id"), "evaluation", ["environment_id"])
    op.create_table(
        "probe",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("evaluation_id", ROW_ID, nullable=False),
        sa.Column("replica_id", ROW_ID),
        sa.Column("probe", sa.String(), nullable=False),
        sa.Column("cache", sa.String()),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("slot", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("reason", sa.String()),
        sa.Column("stage", sa.String()),
        sa.Column("error", JSON),
        sa.Column("log_tail", sa.String()),
        sa.Column("started_at", TIME),
        sa.Column("duration_s", sa.Float()),
        sa.Column("conditions", JSON),
        sa.Column("limits", JSON),
        sa.Column("timing_protocol", JSON),
        sa.Column("facts", JSON),
        sa.CheckConstraint("cache IN ('cold', 'warm', 'cold_serial')", name=op.f("ck_probe_cache_word")),
        sa.CheckConstraint(
            "probe IN ('compile', 'walk', 'accuracy', 'timing', 'memory')", name=op.f("ck_probe_probe_word")
        ),
        sa.CheckConstraint(
            "status IN ('crashed', 'out_of_memory', 'timeout', 'setup_error', 'compile_error', 'runtime_error', 'accuracy_failed', 'unsupported', 'skipped', 'not_comparable', 'ok')",
            name=op.f("ck_probe_status_word"),
        ),
        sa.CheckConstraint("attempt >= 1", name=op.f("ck_probe_attempt_from_one")),
        sa.ForeignKeyConstraint(
            ["evaluation_id"],
            ["evaluation.id"],
            name=op.f("fk_probe_evaluation_id_evaluation"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["replica_id"], ["replica.id"], name=op.f("fk_probe_replica_id_replica"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_probe")),
        sa.UniqueConstraint("evaluation_id", "slot", name=op.f("uq_probe_evaluation_id_slot")),
    )
    op.create_index(op.f("ix_probe_replica_id"), "probe", ["replica_id"])
    op.create_table(
        "sample",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("probe_id", ROW_ID, nullable=False),
        sa.Column("metric", sa.String(), nullable=False),
        sa.Column("round", sa.Integer()),
        sa.Column("value", sa.Float()),
        sa.Column("flags", JSON),
        sa.ForeignKeyConstraint(
            ["probe_id"], ["probe.id"], name=op.f("fk_sample_probe_id_probe"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sample")),
    )
    op.create_index(op.f("ix_sample_probe_id_metric"), "sample", ["probe_id", "metric"])
    op.create_table(
        "probe_artifact",
        sa.Column("probe_id", ROW_ID, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["probe_id"], ["probe.id"], name=op.f("fk_probe_artifact_probe_id_probe"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["sha256"],
            ["artifact.sha256"],
            name=op.f("fk_probe_artifact_sha256_artifact"),
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("probe_id", "kind", "sha256", name=op.f("pk_probe_artifact")),
    )
    op.create_index(op.f("ix_probe_artifact_sha256"), "probe_artifact", ["sha256"])
