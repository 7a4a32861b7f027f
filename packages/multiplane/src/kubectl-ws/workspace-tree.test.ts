import { expect, test } from '@jest/globals';
import { StatusError } from '@multiplane/apimachinery';
import { tree, type CommandModules } from './commands.ts';
import { listWorkspaces } from './list-workspaces.ts';
import type { WorkspaceClient, WorkspaceView } from './workspace-client.ts';

const workspace = (name: string, rest: Partial<WorkspaceView> = {}): WorkspaceView => ({
  name,
  type: 'root:team',
  phase: 'Ready',
  unmetCondition: undefined,
  url: '',
  isDeleting: false,
  isMounted: false,
  ...rest,
});

const children: Readonly<Record<string, readonly WorkspaceView[] | Error>> = {
  root: [workspace('a'), workspace('b'), workspace('c')],
  'root:a': [workspace('deep')],
  'root:a:deep': [],
  'root:b': new StatusError({ code: 503, reason: 'ServiceUnavailable', message: 'shard east is down' }),
  'root:c': new StatusError({ code: 403, reason: 'Forbidden', message: 'you may not' }),
  'root:d': [
    workspace('one'),
    workspace('two', { phase: 'Scheduling', unmetCondition: { text: 'no shard (Unschedulable)', isError: true } }),
    workspace('three', { isDeleting: true }),
  ],
};

/** Runs a command against these workspaces; what it printed, and its error. */
async function run(url: string, command: (modules: CommandModules) => Promise<void>) {
  const printed: string[] = [];
  const client = {
    list: (path: string) => {
      const found = children[path];
      return found instanceof Error ? Promise.reject(found) : Promise.resolve(found);
    },
    canAccess: (path: string) => (path === 'root:b' ? Promise.reject(children[path]) : Promise.resolve(true)),
    clusterPhase: () => Promise.resolve('Ready'),
  } as unknown as WorkspaceClient;
  const modules = { client, url, out: (line: string) => void printed.push(line), err: () => undefined };
  const error: unknown = await command(modules as unknown as CommandModules).catch((failure: unknown) => failure);
  return { text: printed.join('\n'), error: error instanceof Error ? error.message : undefined };
}

test('a workspace on a shard that is down is marked, the rest of the tree is there, and the command fails', async () => {
  const { text, error } = await run('https://host/clusters/root', (modules) =>
    tree({ full: false, wide: false }, modules),
  );
  expect(text).toBe('.\n└── root\n    ├── a\n    │   └── deep\n    ├── b [unavailable]\n    └── c [forbidden]');
  expect(error).toBe(
    'the tree is incomplete, because these workspaces could not be read:\n  root:b: shard east is down',
  );
  const wide = await run('https://host/clusters/root', (modules) => tree({ full: true, wide: true }, modules));
  expect(wide.text).toContain('root:b  ws=Ready  lc=Unknown [unavailable]');
});

test('there is no tree of a workspace that cannot be read', async () => {
  const { text, error } = await run('https://host/clusters/root:b', (modules) =>
    tree({ full: false, wide: false }, modules),
  );
  expect([text, error]).toEqual(['', 'shard east is down']);
});

test('a list shows why a workspace is not ready', async () => {
  const list = (short: boolean, name?: string, url = 'https://host/clusters/root:d') =>
    run(url, (modules) => listWorkspaces({ workspace: name, short }, modules));
  expect((await list(false)).text).toBe(
    [
      'NAME    TYPE        PHASE         REASON',
      'one     root:team   Ready         ',
      'two     root:team   Scheduling    no shard (Unschedulable)',
      'three   root:team   Terminating   ',
    ].join('\n'),
  );
  expect((await list(true)).text).toBe('one\ntwo\nthree');
  expect((await list(true, 'd', 'https://host/clusters/root')).text).toBe('one\ntwo\nthree');
  expect((await list(true, ':root:a:deep')).text).toBe('');
});
