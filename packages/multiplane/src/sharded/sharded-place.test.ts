import { expect, test } from '@jest/globals';
import { topology } from '../topology/topology.ts';
import { shardedPlace } from './sharded-place.ts';

const options = { rootDirectory: '/data', bindAddress: '0.0.0.0', securePort: 6443, console: true };
const argsOf = (given: Readonly<Record<string, string>>, over: Partial<typeof options> = {}) => {
  const processes = topology(shardedPlace({ ...options, ...over }, ['root', 'shard-1'], given));
  return new Map(processes.map(({ name, args }) => [name, args]));
};

test('there are shards, a cache server, a front-proxy and a console, without etcd and NATS', () => {
  const all = argsOf({});
  expect([...all.keys()]).toEqual(['cache-server', 'shard-root', 'shard-shard-1', 'front-proxy', 'console']);
  expect(JSON.stringify([...all])).not.toMatch(/etcd|nats|virtual-workspace-ca=/);
  expect([...argsOf({}, { console: false }).keys()]).not.toContain('console');
});

test('shard root keeps the store of one process, and others have folders of their own', () => {
  const all = argsOf({});
  expect(all.get('shard-root')).toContain('--root-directory=/data');
  expect(all.get('shard-shard-1')).toContain('--root-directory=/data/shard-1');
});

test('the ports keep their distance to the one of the flag', () => {
  const all = argsOf({}, { securePort: 7000 });
  for (const [name, port] of [
    ['front-proxy', 7000],
    ['shard-root', 7001],
    ['shard-shard-1', 7002],
    ['cache-server', 8569],
  ] as const)
    expect(all.get(name)).toContain(`--secure-port=${port}`);
});

test.each([0, 63_536])('port %d is refused', (securePort) => {
  expect(() => argsOf({}, { securePort })).toThrow(/--secure-port must be between 1 and 63535 with --shards/);
});

test('a flag goes to each process that knows it', () => {
  const all = argsOf({ v: '4', 'event-ttl': '60000ms', 'token-auth-file': '/tokens', 'root-directory': '/data' });
  for (const args of all.values()) expect(args).toContain('--v=4');
  expect([...all].filter(([, args]) => args.includes('--event-ttl=60000ms')).map(([name]) => name)).toEqual([
    'shard-root',
    'shard-shard-1',
  ]);
  // Shards know the users of tokens: the front-proxy would drop their group system:masters.
  expect(all.get('front-proxy')).not.toContain('--token-auth-file=/tokens');
});

test.each([
  'etcd-servers',
  'nats-servers',
  'shard-name',
  'tls-cert-file',
  'cache-kubeconfig',
  'client-ca-file',
  'batteries-included',
])('--%s is refused', (name) => {
  expect(() => argsOf({ [name]: 'x' })).toThrow(`--${name} and --shards exclude each other`);
});
