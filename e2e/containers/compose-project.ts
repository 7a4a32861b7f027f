import { createHash } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { localName } from './base-images.ts';
import {
  milliseconds,
  readComposeFile,
  type ComposeFile,
  type ComposeMount,
  type ComposeService,
} from './compose-file.ts';
import type { ContainerEngine, Output } from './engine.ts';

export interface ComposeProjectOptions {
  readonly file: string;
  readonly profiles: readonly string[];
  /** Services of these profiles that are not started; nothing else may depend on them. */
  readonly without?: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** Instead of the file's: containers, networks and volumes of this name are apart from a cluster that runs here. */
  readonly name: string;
}

const hashLabel = 'com.docker.compose.config-hash';

/**
 * What `docker compose` does with a file, by podman or docker: `up`, `down`, `restart`, `cp`, `logs`, `exec`. podman-compose
 * 1.0 and docker-compose 1.29 of Debian 12 know no `volume.subpath`.
 *
 * Services start as soon as those they depend on are healthy or have ended well; `up` again replaces the containers whose
 * service or image has changed. A part of a volume is mounted by its path on this machine. Health checks, which Docker runs
 * at intervals, run here while someone waits for them.
 */
export class ComposeProject {
  readonly #engine: ContainerEngine;
  readonly #folder: string;
  readonly #compose: ComposeFile;
  readonly #name: string;
  constructor({ file, profiles, without = [], variables, name }: ComposeProjectOptions, engine: ContainerEngine) {
    this.#engine = engine;
    this.#name = name;
    this.#folder = dirname(file);
    const { services, ...compose } = readComposeFile(file, profiles, variables);
    const started = Object.entries(services).filter(([service]) => !without.includes(service));
    this.#compose = { ...compose, services: Object.fromEntries(started) };
  }

  get services(): readonly string[] {
    return Object.keys(this.#compose.services);
  }

  /** Services that keep running. */
  get servers(): readonly string[] {
    return this.services.filter((name) => this.#service(name).restart !== 'no');
  }

  container(service: string): string {
    return `${this.#name}-${service}-1`;
  }

  /** Creates and starts what is not there, replaces what has changed, and waits until all of it is healthy. */
  async up(): Promise<void> {
    await this.#create('network', this.#network);
    for (const name of this.#volumes) await this.#create('volume', name);
    const started = new Map<string, Promise<void>>();
    const start = (name: string): Promise<void> => {
      const known = started.get(name);
      if (known !== undefined) return known;
      const mine = (async () => {
        await Promise.all(Object.keys(this.#service(name).depends_on ?? {}).map(start));
        await this.#start(name);
      })();
      started.set(name, mine);
      return mine;
    };
    await Promise.all(this.services.map(start));
  }

  /** Stops and removes all containers, those that need others first; volumes stay, unless they are to go. */
  async down({ volumes = false } = {}): Promise<void> {
    const gone = new Map<string, Promise<void>>();
    const remove = (name: string): Promise<void> => {
      const known = gone.get(name);
      if (known !== undefined) return known;
      const mine = (async () => {
        const dependants = this.services.filter((other) => name in (this.#service(other).depends_on ?? {}));
        await Promise.all(dependants.map(remove));
        await this.#remove(name);
      })();
      gone.set(name, mine);
      return mine;
    };
    await Promise.all(this.services.map(remove));
    await this.#engine.run(['network', 'rm', this.#network]);
    if (volumes) for (const name of this.#volumes) await this.#engine.run(['volume', 'rm', '--force', name]);
  }

  /** Restarts one container, and waits until it is healthy. */
  async restart(service: string): Promise<void> {
    await this.#engine.ok(['restart', this.container(service)]);
    await this.healthy(service);
  }

  /** What its health check says now. */
  async isHealthy(service: string): Promise<boolean> {
    return (await this.#checkHealth(service)).code === 0;
  }

  /** Waits as long as its health check allows. */
  async healthy(service: string): Promise<void> {
    const { healthcheck } = this.#service(service);
    if (healthcheck === undefined) return;
    const { start_period: period = '0s', interval, start_interval: often = interval, retries = 3 } = healthcheck;
    const deadline = performance.now() + milliseconds(period) + retries * milliseconds(interval);
    for (;;) {
      const { code, stdout, stderr } = await this.#checkHealth(service);
      if (code === 0) return;
      const state = await this.state(service);
      if (performance.now() > deadline || state.startsWith('exited'))
        throw new Error(`${service} is not healthy (${state}): ${stdout}${stderr}\n${await this.logs(service)}`);
      await wait(milliseconds(often));
    }
  }

  /** `running`, `exited 1`, … */
  async state(service: string): Promise<string> {
    const format = '{{.State.Status}} {{.State.ExitCode}}';
    const out = (await this.#engine.ok(['container', 'inspect', '--format', format, this.container(service)])).trim();
    // A container whose end someone has waited for is `stopped` until podman has tidied up after it.
    return out.startsWith('running') ? 'running' : out.replace(/^stopped/, 'exited');
  }

  /** What `inspect` says of a container. */
  async inspect<T>(service: string): Promise<T> {
    const [found] = JSON.parse(await this.#engine.ok(['container', 'inspect', this.container(service)])) as T[];
    return found as T;
  }

  /** What it has written to both streams. */
  async logs(service: string): Promise<string> {
    const { stdout, stderr } = await this.#engine.run(['logs', this.container(service)]);
    return stdout + stderr;
  }

  exec(service: string, command: readonly string[]): Promise<Output> {
    return this.#engine.run(['exec', this.container(service), ...command]);
  }

  /** Copies a file out of a container. */
  async copy(service: string, path: string, target: string): Promise<void> {
    await this.#engine.ok(['cp', `${this.container(service)}:${path}`, target]);
  }

  #checkHealth(service: string): Promise<Output> {
    const { healthcheck } = this.#service(service);
    if (healthcheck === undefined) throw new Error(`${service} has no health check`);
    return this.#engine.run(this.#engine.dialect.checkHealth(this.container(service), healthcheck));
  }

  get #network(): string {
    return `${this.#name}_default`;
  }

  get #volumes(): readonly string[] {
    const used = Object.values(this.#compose.services).flatMap(({ volumes = [] }) => volumes);
    const names = used.filter(({ type }) => type === 'volume').map(({ source }) => this.#volume(source));
    return [...new Set(names)];
  }

  #volume(source: string): string {
    if (!(source in this.#compose.volumes)) throw new Error(`the compose file has no volume ${source}`);
    return `${this.#name}-${source}`;
  }

  #service(name: string): ComposeService {
    const service = this.#compose.services[name];
    if (service === undefined) throw new Error(`no service ${name} in the profiles of this project`);
    return service;
  }

  async #create(kind: 'network' | 'volume', name: string): Promise<void> {
    const { code } = await this.#engine.run([kind, 'inspect', name]);
    if (code !== 0) await this.#engine.ok([kind, 'create', name]);
  }

  async #start(name: string): Promise<void> {
    const service = this.#service(name);
    const container = this.container(name);
    const image = (await this.#engine.ok(['image', 'inspect', '--format', '{{.Id}}', this.#image(service)])).trim();
    const hash = createHash('sha256')
      .update(JSON.stringify([service, image]))
      .digest('hex');
    const present = await this.#engine.run([
      'container',
      'inspect',
      '--format',
      `{{index .Config.Labels "${hashLabel}"}}`,
      container,
    ]);
    if (present.code === 0 && present.stdout.trim() !== hash) await this.#remove(name);
    if (present.code !== 0 || present.stdout.trim() !== hash) {
      await this.#engine.ok([
        'create',
        '--name',
        container,
        '--label',
        `${hashLabel}=${hash}`,
        ...(await this.#arguments(name)),
      ]);
    }
    await this.#engine.ok(['start', container]);
    if (service.restart === 'no') {
      const code = (await this.#engine.ok(['wait', container])).trim();
      if (code !== '0') throw new Error(`${name} ended with ${code}: ${await this.logs(name)}`);
    } else await this.healthy(name);
  }

  async #remove(name: string): Promise<void> {
    const grace = Math.ceil(milliseconds(this.#service(name).stop_grace_period ?? '10s') / 1000);
    const container = this.container(name);
    if ((await this.#engine.run(['container', 'inspect', container])).code !== 0) return;
    await this.#engine.ok(['stop', '-t', String(grace), container]);
    await this.#engine.ok(['rm', '--force', container]);
  }

  #image({ image }: ComposeService): string {
    return localName(this.#engine, imageName(image));
  }

  /** The arguments of `create` for a service. */
  async #arguments(name: string): Promise<string[]> {
    const service = this.#service(name);
    const each = (flag: string, values: readonly string[] = []): string[] => values.flatMap((value) => [flag, value]);
    const { user, stop_grace_period: grace, restart, healthcheck, entrypoint } = service;
    const { dialect } = this.#engine;
    const { flags, words } = entrypoint === undefined ? { flags: [], words: [] } : dialect.entrypoint(entrypoint);
    return [
      '--network',
      this.#network,
      '--network-alias',
      name,
      ...dialect.create,
      ...(user === undefined ? [] : ['--user', user]),
      ...(service.read_only === true ? dialect.readOnly : []),
      ...each('--cap-drop', service.cap_drop),
      ...each('--security-opt', service.security_opt),
      ...each('--tmpfs', service.tmpfs),
      ...each('--publish', service.ports),
      ...each(
        '--env',
        Object.entries(service.environment ?? {}).map(([key, value]) => `${key}=${value}`),
      ),
      ...(restart === undefined ? [] : ['--restart', restart]),
      ...(grace === undefined ? [] : ['--stop-timeout', String(milliseconds(grace) / 1000)]),
      ...(healthcheck === undefined ? [] : dialect.health(healthcheck)),
      ...each('--mount', await Promise.all((service.volumes ?? []).map((mount) => this.#mount(mount)))),
      ...flags,
      this.#image(service),
      ...words,
      ...(service.command ?? []),
    ];
  }

  async #mount({ type, source, target, read_only: readOnly = false, volume }: ComposeMount): Promise<string> {
    const end = `dst=${target}${readOnly ? ',ro=true' : ''}`;
    if (type === 'bind') return `type=bind,src=${resolve(this.#folder, source)},${end}`;
    const name = this.#volume(source);
    if (volume === undefined) return `type=volume,src=${name},${end}`;
    const whole = (await this.#engine.ok(['volume', 'inspect', '--format', '{{.Mountpoint}}', name])).trim();
    return `type=bind,src=${join(whole, volume.subpath)},${end}`;
  }
}

/** Docker reads names without a registry as those of Docker Hub. */
function imageName(name: string): string {
  const [first = '', ...rest] = name.split('/');
  if (rest.length === 0) return `docker.io/library/${name}`;
  return /[.:]|^localhost$/.test(first) ? name : `docker.io/${name}`;
}
