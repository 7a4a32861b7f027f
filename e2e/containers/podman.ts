import { createHash } from 'node:crypto';
import { mkdirSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ComposeHealthCheck } from './compose-file.ts';
import { cache, ContainerEngine, repository, type EngineDialect } from './engine.ts';

const oldest = [4, 3] as const;

const dialect: EngineDialect = {
  // Docker's driver `local` is what a file is here.
  create: ['--log-driver', 'k8s-file'],
  readOnly: ['--read-only', '--read-only-tmpfs=false'],
  entrypoint: (words) => ({ flags: ['--entrypoint', JSON.stringify(words)], words: [] }),
  health: healthArguments,
  checkHealth: (container) => ['healthcheck', 'run', container],
  importFor: (os, architecture) => ['--os', os, '--arch', architecture],
  severalPlatforms: true,
  rewritesTimestamps: true,
  shared: false,
};

/**
 * podman with images, volumes and networks of its own, apart from those of the machine. Throws when it is missing or too old.
 *
 * Some machines forbid raising resource limits, which every container does by default, or mount both versions of cgroups,
 * which crun refuses. There {@link podmanWithoutLimits} gives a variant whose runtime is a wrapper of runc that drops the
 * limits from what it is asked to run.
 */
export function podman(): ContainerEngine {
  const engine = new ContainerEngine('podman', dialect, configured('plain'));
  const version = engine.sync(['version', '--format', '{{.Client.Version}}']).trim();
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < oldest[0] || (major === oldest[0] && minor < oldest[1]))
    throw new Error(`podman ${version} is older than ${oldest.join('.')}`);
  return engine;
}

/** With the wrapper of runc. */
export function podmanWithoutLimits(): ContainerEngine {
  const wrapper = join(cache, 'runc-without-limits');
  mkdirSync(cache, { recursive: true });
  writeFileSync(wrapper, runcWithoutLimits, { mode: 0o755 });
  return new ContainerEngine(
    'podman',
    dialect,
    configured('without-limits', { name: 'runc-without-limits', path: wrapper }),
  );
}

/** podman 4.3 takes a command as an array without the word `CMD`, and with it as words between spaces. */
function healthArguments({
  test: [kind, ...command],
  interval,
  timeout,
  retries,
  start_period: period,
}: ComposeHealthCheck): string[] {
  if (kind !== 'CMD') throw new Error(`a health check of the kind ${kind} is not known here`);
  return [
    `--health-cmd=${JSON.stringify(command)}`,
    `--health-interval=${interval}`,
    `--health-timeout=${timeout}`,
    ...(retries === undefined ? [] : [`--health-retries=${retries}`]),
    ...(period === undefined ? [] : [`--health-start-period=${period}`]),
  ];
}

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
