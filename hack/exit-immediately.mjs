// Loaded into jest and its workers. A worker that has done its work ends by itself, and then takes apart what hundreds of
// test files left in its memory: longer than the half second that jest waits before it kills it and warns of handles that
// leaked. That memory need not be freed. What does leak a handle still keeps its worker from getting here, and is
// warned of.
import process from 'node:process';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) process.once('exit', () => process.exit());
