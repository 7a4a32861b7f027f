import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const repository = join(import.meta.dirname, '..', '..');
/** Images, volumes and settings of the suites; survives them, so that a second run finds what the first one has built. */
export const cache = join(repository, '.cache', 'containers');
const oldest = [4, 3] as const;

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * podman with images, volumes and networks of its own, apart from those of the machine.
 *
 * Some machines forbid raising resource limits, which every container does by default, or mount both versions of cgroups,
 * which crun refuses. There {@link withoutLimits} gives a variant whose runtime is a wrapper of runc that drops the limits
 * from what it is asked to run.
 */
export class ContainerEngine {
  readonly #env: NodeJS.ProcessEnv;
  /** The binary. */
  readonly command = 'podman';
  private constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** With the machine's own runtime. Throws when podman is missing or too old. */
  static podman(): ContainerEngine {
    const engine = new ContainerEngine(configured('plain'));
    const version = engine.sync(['version', '--format', '{{.Client.Version}}']).trim();
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major < oldest[0] || (major === oldest[0] && minor < oldest[1]))
      throw new Error(`podman ${version} is older than ${oldest.join('.')}`);
    return engine;
  }

  /** With the wrapper of runc. */
  static withoutLimits(): ContainerEngine {
    const wrapper = join(cache, 'runc-without-limits');
    mkdirSync(cache, { recursive: true });
    writeFileSync(wrapper, runcWithoutLimits, { mode: 0o755 });
    return new ContainerEngine(configured('without-limits', { name: 'runc-without-limits', path: wrapper }));
  }

  /** For programs that call the engine themselves. */
  get env(): NodeJS.ProcessEnv {
    return this.#env;
  }

  /** Standard output. Throws with what the command has said. */
  sync(args: readonly string[], options: { readonly timeout?: number; readonly input?: string } = {}): string {
    return execFileSync(this.command, args, {
      env: this.#env,
      encoding: 'utf8',
      stdio: 'pipe',
      maxBuffer: maximum,
      ...options,
    });
  }

  succeeds(args: readonly string[]): boolean {
    try {
      this.sync(args);
      return true;
    } catch {
      return false;
    }
  }

  /** Runs to the end, whatever the outcome. */
  run(args: readonly string[]): Promise<Output> {
    return new Promise((resolve) => {
      execFile(
        this.command,
        args,
        { env: this.#env, encoding: 'utf8', maxBuffer: maximum },
        (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
          resolve({ code, stdout, stderr: code < 0 ? `${stderr}${error?.message ?? ''}` : stderr });
        },
      );
    });
  }

  /** Standard output of a command that must succeed. */
  async ok(args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(args);
    if (code !== 0) throw new Error(`${this.command} ${args.join(' ')} ended with ${code}:\n${stderr}${stdout}`);
    return stdout;
  }
}

const maximum = 64 << 20;
/** `f_type` of overlayfs (statfs(2)). */
const overlayMagic = 0x794c7630;
/** The limits stand in the bundle of a container (create) and in the file of a process (exec). */
const runcWithoutLimits = `#!/bin/sh
for a; do for f in "$a/config.json" "$a"; do [ -f "$f" ] && sed -i 's/"rlimits":\\[[^]]*\\]/"rlimits":[]/' "$f"; done; done
exec runc "$@"
`;

/** Writes the settings of podman; returns the environment in which it reads them. */
function configured(name: string, runtime?: { readonly name: string; readonly path: string }): NodeJS.ProcessEnv {
  // What is about running containers must not outlive a reboot, and the paths of sockets must be short.
  const id = createHash('sha256').update(repository).digest('hex').slice(0, 8);
  const state = join(tmpdir(), `multiplane-containers-${id}`);
  mkdirSync(cache, { recursive: true });
  const text = JSON.stringify;
  const containers = [
    '[engine]',
    ...(runtime === undefined ? [] : [`runtime = ${text(runtime.name)}`]),
    'cgroup_manager = "cgroupfs"',
    'events_logger = "file"',
    'lock_type = "file"',
    `tmp_dir = ${text(join(state, 'libpod'))}`,
    ...(runtime === undefined ? [] : ['[engine.runtimes]', `${runtime.name} = [${text(runtime.path)}]`]),
    '[network]',
    'network_backend = "netavark"',
    `network_config_dir = ${text(join(cache, 'networks'))}`,
  ];
  const storage = [
    '[storage]',
    // The kernel does not lay one overlay over another.
    `driver = ${text(statfsSync(cache).type === overlayMagic ? 'vfs' : 'overlay')}`,
    `graphroot = ${text(join(cache, 'storage'))}`,
    `runroot = ${text(join(state, 'run'))}`,
    '[storage.options.overlay]',
    // Without it the folder is a mount point, and cannot be deleted.
    'skip_mount_home = "true"',
  ];
  const files = { containers: join(cache, `${name}.conf`), storage: join(cache, 'storage.conf') };
  writeFileSync(files.containers, `${containers.join('\n')}\n`);
  writeFileSync(files.storage, `${storage.join('\n')}\n`);
  return {
    ...process.env,
    NODE_OPTIONS: '',
    CONTAINERS_CONF: files.containers,
    CONTAINERS_STORAGE_CONF: files.storage,
    // Timers of systemd would run the health checks, where there is a systemd; here the suites do.
    DISABLE_HC_SYSTEMD: 'true',
  };
}
