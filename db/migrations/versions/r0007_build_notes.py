"""What is to be said of a build beside its numbers: in which configuration it is and why, or that two sources disagree.

Revision 0007, after 0006. Column meanings are with the models; triggers and comments are put on after every upgrade.
"""

from __future__ import annotations

import sqlalchemy as sa

from db.migrations.rebuild import altered

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column note of kernel_build, NULL for what is there: nobody kept what was said."""
    with altered("kernel_build") as batch:
        batch.add_column(sa.Column("note", sa.String()))
