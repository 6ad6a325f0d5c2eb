"""Alembic's scripts: one module a revision in ``versions``. ``db.migrate`` runs them."""
