import { realpath } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join, relative } from 'node:path';
import { homedir } from 'node:os';
import { encodeYaml } from '@multiplane/apimachinery';
import { readKubeconfig, type Kubeconfig } from '@multiplane/client';
import { writeFileAtomic } from '@multiplane/component-base';

export type Cluster = Kubeconfig['clusters'][number];
export type Context = Kubeconfig['contexts'][number];
type User = Kubeconfig['users'][number];

interface Part {
  readonly file: string;
  config: Kubeconfig;
  changed: boolean;
}

/** The kubeconfig files: that of the flag, all of KUBECONFIG, or `~/.kube/config`. */
export function kubeconfigPaths(
  flag: string | undefined,
  environment: { readonly KUBECONFIG?: string | undefined },
): string[] {
  if (flag !== undefined) return [flag];
  const named = new Set(environment.KUBECONFIG?.split(delimiter).filter((file) => file !== ''));
  return named.size > 0 ? [...named] : [join(homedir(), '.kube', 'config')];
}

/**
 * Several kubeconfig files merged by client-go's rules: the first file with an entry or a current context wins, and changes
 * are written to the file that the entry came from. Paths of returned entries are absolute; in the files they are relative
 * where possible.
 */
export class KubeconfigFiles {
  readonly #parts: readonly Part[];
  readonly #first: Part;

  /** Of several files some may be missing. Throws when one cannot be read, or none exists. */
  constructor(files: readonly string[]) {
    this.#parts = files.flatMap((file) => partOf(file, files.length > 1));
    // No file exists: reading the first one throws.
    this.#first = this.#parts[0] ?? readPart(files[0] ?? '');
  }

  get currentContext(): string | undefined {
    return this.#parts.map(({ config }) => config['current-context']).find((name) => (name ?? '') !== '');
  }

  /** Names of all contexts. */
  get contexts(): string[] {
    return [...new Set(this.#parts.flatMap(({ config }) => config.contexts.map(({ name }) => name)))];
  }

  set currentContext(name: string) {
    this.#first.config = { ...this.#first.config, 'current-context': name };
    this.#first.changed = true;
  }

  cluster(name: string | undefined): Cluster | undefined {
    return this.#find('clusters', name, (entry: Cluster, file) => ({
      ...entry,
      cluster: withPaths(entry.cluster, ['certificate-authority'], (path) => absolute(path, file)),
    }));
  }

  context(name: string | undefined): Context | undefined {
    return this.#find('contexts', name, (entry: Context) => entry);
  }

  user(name: string | undefined): User | undefined {
    return this.#find('users', name, ({ user, ...entry }: User, file) => {
      const paths = withPaths(user, ['client-certificate', 'client-key', 'tokenFile'], (path) => absolute(path, file));
      const { exec } = user;
      if (exec === undefined) return { ...entry, user: paths };
      // A command without a path separator is looked up in PATH.
      const command = exec.command.includes('/') ? absolute(exec.command, file) : exec.command;
      return { ...entry, user: { ...paths, exec: { ...exec, command } } };
    });
  }

  /** Adds or replaces a cluster; a new one is added to the file of the cluster `like`. */
  putCluster(entry: Cluster, like: string): void {
    const part = this.#partFor('clusters', entry.name, like);
    const cluster = withPaths(entry.cluster, ['certificate-authority'], (path) => inside(path, part.file));
    put(part.config.clusters, { ...entry, cluster });
  }

  /** Adds or replaces a context; a new one is added to the file of the context `like`. */
  putContext(entry: Context, like: string): void {
    put(this.#partFor('contexts', entry.name, like).config.contexts, entry);
  }

  async save(): Promise<void> {
    for (const part of this.#parts.filter(({ changed }) => changed)) {
      // The target of a symbolic link, which would otherwise be replaced by a file.
      await writeFileAtomic(await realpath(part.file), encodeYaml(part.config), 0o600);
      part.changed = false;
    }
  }

  #find<T extends { name: string }>(
    section: 'clusters' | 'contexts' | 'users',
    name: string | undefined,
    read: (entry: T, file: string) => T,
  ): T | undefined {
    const part = this.#partWith(section, name);
    const entries = part?.config[section] as unknown as T[] | undefined;
    const entry = entries?.find((each) => each.name === name);
    return entry === undefined || part === undefined ? undefined : read(entry, part.file);
  }

  #partWith(section: 'clusters' | 'contexts' | 'users', name: string | undefined): Part | undefined {
    return this.#parts.find(({ config }) => config[section].some((entry) => entry.name === name));
  }

  #partFor(section: 'clusters' | 'contexts', name: string, like: string): Part {
    const part = this.#partWith(section, name) ?? this.#partWith(section, like) ?? this.#first;
    part.changed = true;
    return part;
  }
}

function partOf(file: string, mayBeMissing: boolean): Part[] {
  try {
    return [readPart(file)];
  } catch (error) {
    if (mayBeMissing && (error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

const readPart = (file: string): Part => ({ file, config: readKubeconfig(file), changed: false });

function put<T extends { name: string }>(entries: T[], entry: T): void {
  const at = entries.findIndex(({ name }) => name === entry.name);
  if (at < 0) entries.push(entry);
  else entries[at] = entry;
}

function withPaths<T extends object>(value: T, fields: readonly (keyof T)[], change: (path: string) => string): T {
  const result = { ...value };
  for (const field of fields) {
    const path = result[field];
    if (typeof path === 'string' && path !== '') result[field] = change(path) as T[keyof T];
  }
  return result;
}

const absolute = (path: string, file: string): string => (isAbsolute(path) ? path : join(dirname(file), path));

/** Relative to the folder of a file when the path is below it. */
function inside(path: string, file: string): string {
  const steps = relative(dirname(file), path);
  return steps.startsWith('..') || isAbsolute(steps) ? path : steps;
}
