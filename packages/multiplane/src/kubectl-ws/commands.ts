import { isStatusError, parseLabelSelector, type JsonObject } from '@multiplane/apimachinery';
import { suggestionText } from '@multiplane/component-base';
import { claimWarnings } from './claim-warnings.ts';
import type { KubeconfigStore } from './kubeconfig-store.ts';
import { poll } from './poll.ts';
import { waitUntilReady } from './wait-until-ready.ts';
import type { WorkspaceClient, WorkspaceView } from './workspace-client.ts';
import { workspaceTree } from './workspace-tree.ts';
import { parseWorkspaceUrl, resolveWorkspacePath, workspaceUrl } from './workspace-url.ts';

/** The dependencies of all plugin commands. */
export interface CommandModules {
  readonly store: KubeconfigStore;
  readonly client: WorkspaceClient;
  /** Server URL of the workspace that the command works in. */
  readonly url: string;
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
}

const readyTimeoutMs = 60_000;
const reachableTimeoutMs = 5_000;

/**
 * `kubectl ws <argument>`.
 *
 * @param commands - what the argument may be a misspelt name of, besides a workspace
 */
export async function use(
  argument: string,
  short: boolean,
  modules: CommandModules,
  commands: readonly string[] = [],
): Promise<void> {
  const { store, client, out, err } = modules;
  if (argument === '.') return current(short, modules);
  if (argument === '-') {
    if (!(await store.usePrevious())) throw new Error('no previous workspace found in kubeconfig');
    return current(short, modules);
  }
  const from = parseWorkspaceUrl(store.server);
  const target =
    argument === '~' || argument.startsWith('~:')
      ? { path: `${await client.home()}${argument.slice(1)}` }
      : resolveWorkspacePath(from.path, argument);
  if ('note' in target && target.note !== undefined) err(target.note);
  const type = await accessibleWorkspaceType(target.path, client, /[:/]/.test(argument) ? [] : commands);
  await store.use(workspaceUrl({ base: from.base, path: target.path }));
  out(short ? target.path : `Current workspace is '${target.path}'${type === undefined ? '' : ` (type ${type})`}.`);
  for (const warning of await claimWarnings(target.path, client)) err(warning);
}

/** The type of a workspace, undefined when unknown. Throws kcp's texts when it is not found or access is denied. */
export async function accessibleWorkspaceType(
  path: string,
  client: WorkspaceClient,
  commands: readonly string[] = [],
): Promise<string | undefined> {
  const allowed = await client.canAccess(path);
  const colon = path.lastIndexOf(':');
  if (colon < 0) {
    if (!allowed) throw new Error(`access to workspace "${path}" denied`);
    return path === 'root' ? 'root' : undefined;
  }
  const workspace = await client.get(path.slice(0, colon), path.slice(colon + 1)).catch((error: unknown) => {
    if (isStatusError(error)) return undefined;
    throw error;
  });
  if (allowed) return workspace?.type;
  if (workspace !== undefined) throw new Error(`access to workspace "${path}" denied`);
  throw new Error(`workspace "${path}" not found${await suggestion(path, client, commands)}`);
}

/** The siblings with a similar name, as far as the user may list them, and sub-commands. */
async function suggestion(path: string, client: WorkspaceClient, commands: readonly string[]): Promise<string> {
  const colon = path.lastIndexOf(':');
  const siblings = await client.list(path.slice(0, colon)).catch(() => []);
  const names = siblings.filter(({ isDeleting }) => !isDeleting).map(({ name }) => name);
  return suggestionText(path.slice(colon + 1), [...names, ...commands]);
}

/** `kubectl ws .` and `kubectl ws current [--short]`. */
export function current(short: boolean, { store, out }: CommandModules): void {
  const { path } = parseWorkspaceUrl(store.server);
  out(short ? path : `Current workspace is '${path}'.`);
}

/** `kubectl ws tree [--full] [--wide]`. */
export async function tree(
  options: { readonly full: boolean; readonly wide: boolean },
  { url, client, out }: CommandModules,
): Promise<void> {
  if (!url.includes('/clusters/')) {
    out(`current context URL "${url}" does not point directly to a kcp workspace`);
    return;
  }
  const { text, unreadable } = await workspaceTree(client, parseWorkspaceUrl(url).path, options);
  out(text);
  if (unreadable.length === 0) return;
  const failures = unreadable.map(({ path, reason }) => `\n  ${path}: ${reason}`).join('');
  throw new Error(`the tree is incomplete, because these workspaces could not be read:${failures}`);
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
  /** As on the command line: `region=eu,tier in (a,b)`. */
  readonly locationSelector?: string | undefined;
  readonly createContext?: string | undefined;
}

/** `kubectl create workspace <name>`. */
export async function create(name: string, options: CreateOptions, modules: CommandModules): Promise<void> {
  const { client, store, url, out } = modules;
  const { base, path: parent } = parseWorkspaceUrl(url);
  const type = options.type?.toLowerCase();
  if (options.ignoreExisting === true && type !== undefined && !type.startsWith('root'))
    throw new Error('--ignore-existing must not be used with non-absolute type path');
  const selector = options.locationSelector === undefined ? undefined : selectorOf(options.locationSelector);
  const { workspace, existed } = await createOrGet(client, parent, name, {
    ignoreExisting: options.ignoreExisting === true,
    spec: {
      ...(type === undefined ? {} : { type: typeReference(type) }),
      ...(selector === undefined ? {} : { location: { selector } }),
    },
  });
  if (existed && type !== undefined && workspace.type !== type) {
    throw new Error(
      `workspace "${name}" cannot be created with type ${type}, it already exists with different type ${workspace.type ?? ''}`,
    );
  }
  const ofType = workspace.type === undefined ? '' : ` (type ${workspace.type})`;
  const isReady = workspace.phase === 'Ready';
  const how = existed ? 'already exists' : 'created';
  out(`Workspace "${name}"${ofType} ${how}.${existed && isReady ? '' : ' Waiting for it to be ready...'}`);
  if (!isReady) await waitUntilReady({ parent, name, ofType, timeoutMs: readyTimeoutMs }, modules);
  await waitUntilReachable(client, `${parent}:${name}`);
  out(`Workspace "${name}"${ofType} is ready to use.`);

  const { createContext: context, enter = false } = options;
  const path = `${parent}:${name}`;
  if (context !== undefined) {
    const isKnown = await store.createContext(
      context,
      workspaceUrl({ base, path }),
      options.ignoreExisting === true,
      enter,
    );
    out(`${isKnown ? 'Updated' : 'Created'} context "${context}"${enter ? ' and switched to it' : ''}.`);
  } else if (enter) {
    await use(`:${path}`, false, modules);
  }
}

async function createOrGet(
  client: WorkspaceClient,
  parent: string,
  name: string,
  { ignoreExisting, spec }: { readonly ignoreExisting: boolean; readonly spec: JsonObject },
): Promise<{ readonly workspace: WorkspaceView; readonly existed: boolean }> {
  try {
    return { workspace: await client.create(parent, name, spec), existed: false };
  } catch (error) {
    if (!ignoreExisting || !isStatusError(error, 'AlreadyExists')) throw error;
    const workspace = await client.get(parent, name);
    if (workspace === undefined) throw error;
    return { workspace, existed: true };
  }
}

/** Waits until the front-proxy knows a new workspace. Returns after a timeout as well; later requests report the error. */
export async function waitUntilReachable(client: WorkspaceClient, path: string): Promise<void> {
  await poll(reachableTimeoutMs, async () => ((await client.canAccess(path)) ? true : undefined));
}

function typeReference(text: string): JsonObject {
  const colon = text.lastIndexOf(':');
  return colon < 0 ? { name: text } : { path: text.slice(0, colon), name: text.slice(colon + 1) };
}

const operators: Readonly<Record<string, string>> = { in: 'In', notin: 'NotIn', exists: 'Exists', '!': 'DoesNotExist' };

/** A label selector in the form of `metav1.LabelSelector`. Throws for invalid or unsupported operators. */
function selectorOf(text: string): JsonObject {
  let requirements;
  try {
    ({ requirements } = parseLabelSelector(text));
  } catch (error) {
    throw new Error(
      `invalid location selector: couldn't parse the selector string ${JSON.stringify(text)}: ${(error as Error).message}`,
      { cause: error },
    );
  }
  const matchLabels: Record<string, string> = {};
  const matchExpressions: JsonObject[] = [];
  for (const { key, operator, values } of requirements) {
    if (operator === '=' || operator === '==') matchLabels[key] = values[0] as string;
    else if (operator === '!=') matchExpressions.push({ key, operator: 'NotIn', values: [...values] });
    else {
      const mapped = operators[operator];
      if (mapped === undefined) throw new Error(`invalid location selector: operator ${operator} is not supported`);
      matchExpressions.push({ key, operator: mapped, ...(values.length === 0 ? {} : { values: [...values] }) });
    }
  }
  return {
    ...(Object.keys(matchLabels).length === 0 ? {} : { matchLabels }),
    ...(matchExpressions.length === 0 ? {} : { matchExpressions }),
  };
}
