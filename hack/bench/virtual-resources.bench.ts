import { measureParts } from './parts.ts';
import { measureOneProcess } from './virtual-resources/one-process.ts';
import { measureSharded } from './virtual-resources/sharded.ts';

/*
 * Virtual resources: what consumers wait for, and what they cost, with separate processes on two
 * shards and with all servers in one process.
 */
console.log('\nVirtual resources');
await measureParts({ sharded: measureSharded, 'one-process': measureOneProcess });
