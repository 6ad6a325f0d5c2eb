"""What Alembic runs for every command: it works on the connection, and in the transaction, that its caller gives."""

from alembic import context

from db.models import Base


def run() -> None:
    """Run the command's migrations on the caller's connection."""
    connection = context.config.attributes["connection"]
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        # SQLite alters a table by building it anew.
        render_as_batch=connection.dialect.name == "sqlite",
        compare_type=True,
        # The caller's transaction spans the whole upgrade; Alembic neither begins nor ends one.
        transactional_ddl=False,
    )
    context.run_migrations()


run()
