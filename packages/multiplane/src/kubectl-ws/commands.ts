import { setTimeout as delay } from 'node:timers/promises';
import { isStatusError, type JsonObject } from '@multiplane/apimachinery';
import type { KubeconfigStore } from './kubeconfig-store.ts';
import type { WorkspaceClient } from './workspace-client.ts';
import { workspaceTree } from './workspace-tree.ts';
import { parseWorkspaceUrl, resolveWorkspacePath, workspaceUrl } from './workspace-url.ts';

/** What every command of the plugin needs. */
export interface CommandModules {
  readonly store: KubeconfigStore;
  readonly client: WorkspaceClient;
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
}

const pollMs = 100;
const readyTimeoutMs = 60_000;

/** `kubectl ws <argument>` (C13.2). */
export async function use(argument: string, short: boolean, modules: CommandModules): Promise<void> {
  const { store, client, out, err } = modules;
  if (argument === '.') return current(short, modules);
  if (argument === '-') {
    const server = store.previousServer;
    if (server === undefined) throw new Error('no previous workspace found in kubeconfig');
    await store.use(server);
    return current(short, modules);
  }
  const from = parseWorkspaceUrl(store.server);
  const target =
    argument === '~' || argument.startsWith('~:')
      ? { path: `${await client.home()}${argument.slice(1)}` }
      : resolveWorkspacePath(from.path, argument);
  if ('note' in target && target.note !== undefined) err(target.note);
  const type = await enterable(target.path, client);
  await store.use(workspaceUrl({ base: from.base, path: target.path }));
  out(short ? target.path : `Current workspace is '${target.path}'${type === undefined ? '' : ` (type ${type})`}.`);
}

/** The type of a workspace one may enter; throws for one that is not there or forbidden. */
async function enterable(path: string, client: WorkspaceClient): Promise<string | undefined> {
  const allowed = await client.mayEnter(path);
  const colon = path.lastIndexOf(':');
  if (colon < 0) {
    if (!allowed) throw new Error(`access to workspace "${path}" denied`);
    return undefined;
  }
  const workspace = await client.get(path.slice(0, colon), path.slice(colon + 1)).catch((error: unknown) => {
    if (isStatusError(error)) return undefined;
    throw error;
  });
  if (!allowed)
    throw new Error(workspace === undefined ? `workspace "${path}" not found` : `access to workspace "${path}" denied`);
  return workspace?.type;
}

/** `kubectl ws .` and `kubectl ws current [--short]`. */
export function current(short: boolean, { store, out }: CommandModules): void {
  const { path } = parseWorkspaceUrl(store.server);
  out(short ? path : `Current workspace is '${path}'.`);
}

/** `kubectl ws tree [--full]`. */
export async function tree(full: boolean, { store, client, out }: CommandModules): Promise<void> {
  out(await workspaceTree(client, parseWorkspaceUrl(store.server).path, full));
}

/** `kubectl ws create-context [<name>] [--overwrite]`. */
export async function createContext(
  name: string | undefined,
  overwrite: boolean,
  { store, out }: CommandModules,
): Promise<void> {
  const { path } = parseWorkspaceUrl(store.server);
  const context = name ?? path;
  const existed = await store.createContext(context, store.server, overwrite);
  out(`${existed ? 'Updated' : 'Created'} context "${context}" and switched to it.`);
}

export interface CreateOptions {
  readonly type?: string | undefined;
  readonly enter?: boolean | undefined;
  readonly ignoreExisting?: boolean | undefined;
}

/** `kubectl create workspace <name>` (C13.4): creates, waits for it to be ready, enters it if asked. */
export async function create(name: string, options: CreateOptions, modules: CommandModules): Promise<void> {
  const { store, client, out } = modules;
  const parent = parseWorkspaceUrl(store.server).path;
  const type = options.type === undefined ? undefined : typeReference(options.type);
  if (options.ignoreExisting === true && type !== undefined && !options.type?.startsWith('root'))
    throw new Error('--ignore-existing must not be used with non-absolute type path');
  let workspace;
  let existed = false;
  try {
    workspace = await client.create(parent, name, type === undefined ? {} : { type });
  } catch (error) {
    if (options.ignoreExisting !== true || !isStatusError(error, 'AlreadyExists')) throw error;
    workspace = await client.get(parent, name);
    existed = true;
  }
  const ofType = workspace?.type === undefined ? '' : ` (type ${workspace.type})`;
  if (existed && options.type !== undefined && workspace?.type !== options.type) {
    throw new Error(
      `workspace "${name}" cannot be created with type ${options.type}, it already exists with different type ${workspace?.type ?? ''}`,
    );
  }
  if (workspace?.phase !== 'Ready') {
    out(`Workspace "${name}"${ofType} ${existed ? 'already exists' : 'created'}. Waiting for it to be ready...`);
    await waitUntilReady(client, parent, name, ofType);
  } else if (existed) {
    out(`Workspace "${name}"${ofType} already exists.`);
  } else {
    out(`Workspace "${name}"${ofType} created. Waiting for it to be ready...`);
  }
  if (!existed || workspace?.phase !== 'Ready') out(`Workspace "${name}"${ofType} is ready to use.`);
  if (options.enter === true) await use(name, false, modules);
}

async function waitUntilReady(client: WorkspaceClient, parent: string, name: string, ofType: string): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs;
  for (;;) {
    if ((await client.get(parent, name))?.phase === 'Ready') return;
    if (Date.now() > deadline) throw new Error(`workspace "${name}"${ofType} created but is not ready to use`);
    await delay(pollMs);
  }
}

function typeReference(text: string): JsonObject {
  const lower = text.toLowerCase();
  const colon = lower.lastIndexOf(':');
  return colon < 0 ? { name: lower } : { path: lower.slice(0, colon), name: lower.slice(colon + 1) };
}
