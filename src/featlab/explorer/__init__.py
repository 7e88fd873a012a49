"""`featlab explore`: a page and an API on this machine, to type a function and play with its theory.

It computes nothing itself. A request is checked (`guard`, `schema`) and waits (`lanes`, `workers`, `handed`) for a
worker process (`worker`), where a task (`questions`, `learners`, `runs`) asks the functions behind the command line;
it is answered in JSON, at once or as a stream of events (`streams`).

Internal: modules and names may change; what others may build on is the API (docs/explorer-api.md).
"""
