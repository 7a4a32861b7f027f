import { execFileSync } from 'node:child_process';
import { ContainerEngine, type EngineDialect } from './engine.ts';

const oldest = [20, 10] as const;

const dialect: Omit<EngineDialect, 'rewritesTimestamps'> = {
  create: ['--log-driver', 'local'],
  readOnly: ['--read-only'],
  entrypoint: ([program = '', ...words]) => ({ flags: ['--entrypoint', program], words }),
  // The command line only knows checks by a shell, which not every image has: the suites run them, as they do with podman.
  health: () => ['--no-healthcheck'],
  checkHealth: (container, { test: [kind, ...words] }) => {
    if (kind !== 'CMD') throw new Error(`a health check of the kind ${kind} is not known here`);
    return ['exec', container, ...words];
  },
  importFor: (os, architecture) => ['--platform', `${os}/${architecture}`],
  severalPlatforms: false,
  shared: true,
};

/** The machine's Docker. Throws when its daemon does not answer, is too old, or cannot build with BuildKit. */
export function docker(): ContainerEngine {
  const env = { ...process.env, NODE_OPTIONS: '' };
  const run = (...args: string[]): string =>
    execFileSync('docker', args, { env, encoding: 'utf8', stdio: 'pipe', timeout: 20_000 }).trim();
  const [server = '', client = ''] = run('version', '--format', '{{.Server.Version}} {{.Client.Version}}').split(' ');
  const [major = 0, minor = 0] = server.split('.').map(Number);
  if (major < oldest[0] || (major === oldest[0] && minor < oldest[1]))
    throw new Error(`docker ${server} is older than ${oldest.join('.')}`);
  // The client has BuildKit's own up to 22; since then it is a plugin.
  const builder = new ContainerEngine('docker', { ...dialect, rewritesTimestamps: major >= 26 }, env);
  const hasPlugin = builder.succeeds(['buildx', 'version']);
  if (Number(client.split('.')[0]) >= 23 && !hasPlugin)
    throw new Error(`docker ${client} has no plugin buildx, which builds the image`);
  return hasPlugin ? builder : new ContainerEngine('docker', { ...dialect, rewritesTimestamps: false }, env);
}
