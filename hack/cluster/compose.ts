/**
 * The compose file: the same processes as `make up PROFILE=sharded`, in containers, and beside them one container that
 * runs everything in one process, and Prometheus with Grafana.
 *
 * Usage: compose.ts         writes deploy/compose/compose.yaml and the files beside it
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  configFiles,
  pkiArguments,
  topology,
  type ClusterProcess,
  type Place,
} from '../../packages/multiplane/src/topology/index.ts';
import { toYaml } from './yaml.ts';

const images = {
  multiplane: '${MULTIPLANE_IMAGE:-multiplane:local}',
  etcd: 'quay.io/coreos/etcd:v3.5.21',
  nats: 'nats:2.11.3-alpine',
  prometheus: 'prom/prometheus:v3.3.1',
  grafana: 'grafana/grafana:12.0.0',
} as const;
/** `start_period` bounds the start; a server that is ready earlier becomes healthy earlier, and dependants start then. */
const healthTiming = {
  interval: '5s',
  timeout: '5s',
  retries: 6,
  start_period: '300s',
  start_interval: '1s',
} as const;
const externalUrl = 'https://${MULTIPLANE_HOSTNAME:-localhost}:${MULTIPLANE_PORT:-6443}';
const shards = ['root', 'shard-1'];

/** In containers every process has an address of its own, so each listens on the usual ports of the first one. */
const place: Place = {
  shards,
  pki: '/pki',
  config: '/etc/multiplane',
  data: () => '/data',
  host: (process) => process,
  listen: '0.0.0.0',
  port: (_process, usual) => usual,
  externalUrl,
  hasConsole: true,
};

const processes = topology({
  ...place,
  flags: {
    'cache-server': [
      '--logging-format=json',
      // It authorizes system:masters only; its port is not published.
      '--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics',
    ],
    'virtual-workspaces': ['--logging-format=json'],
    shard: ['--logging-format=json'],
    'front-proxy': ['--logging-format=json'],
    console: [
      '--logging-format=json',
      // Its few figures name no user; Prometheus has a certificate, and the console reviews tokens only.
      '--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics',
    ],
  },
});

/** What every container has: no root, nothing writable but its volumes, no capabilities, bounded logs. */
const hardened = {
  user: '65532:65532',
  read_only: true,
  cap_drop: ['ALL'],
  security_opt: ['no-new-privileges:true'],
  tmpfs: ['/tmp'],
  restart: 'unless-stopped',
  logging: { driver: 'local' },
} as const;

/** One volume holds everything; each container sees its own part of it. */
const part = (subpath: string, target: string, readOnly = false): object => ({
  type: 'volume',
  source: 'data',
  target,
  ...(readOnly ? { read_only: true } : {}),
  volume: { subpath },
});

/** The health check as a command inside the container: the images bring different tools. */
function healthCheck({ kind, program, port, health }: ClusterProcess): object {
  if (program === 'nats-server') return { test: ['CMD', 'wget', '-q', '-O', '/dev/null', health.url], ...healthTiming };
  if (program === 'etcd') {
    const tls = [
      '--cacert=/pki/storage-ca.crt',
      '--cert=/pki/storage-client/tls.crt',
      '--key=/pki/storage-client/tls.key',
    ];
    return {
      test: ['CMD', 'etcdctl', `--endpoints=https://127.0.0.1:${port}`, ...tls, 'endpoint', 'health'],
      ...healthTiming,
    };
  }
  const authority = kind === 'console' ? '/pki/console/ca.crt' : '/pki/serving-ca.crt';
  return { test: askReady(health.url, authority), ...healthTiming };
}

/** The authority is named for this command alone: on the first start the server makes it, and Node warns of a missing one. */
const askReady = (url: string, authority: string): string[] => [
  'CMD',
  'env',
  `NODE_EXTRA_CA_CERTS=${authority}`,
  '/opt/multiplane/hack/node',
  '-e',
  `fetch('${url}').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))`,
];

function service(each: ClusterProcess): object {
  const isOurs = each.program === 'multiplane';
  return {
    profiles: ['sharded'],
    image: isOurs ? images.multiplane : each.program === 'etcd' ? images.etcd : images.nats,
    ...(isOurs ? { build: { context: '../..', dockerfile: 'deploy/docker/Dockerfile' } } : {}),
    // The image of NATS starts through a script that wants root.
    ...(isOurs ? {} : { entrypoint: [each.program === 'etcd' ? '/usr/local/bin/etcd' : '/usr/local/bin/nats-server'] }),
    command: [...each.args],
    ...hardened,
    stop_grace_period: '40s',
    ...(each.kind === 'front-proxy'
      ? { ports: [`\${MULTIPLANE_BIND:-127.0.0.1}:\${MULTIPLANE_PORT:-6443}:${each.port}`] }
      : {}),
    ...(each.kind === 'console'
      ? { ports: [`\${MULTIPLANE_BIND:-127.0.0.1}:\${MULTIPLANE_CONSOLE_PORT:-8443}:${each.port}`] }
      : {}),
    volumes: [
      each.kind === 'console' ? part('pki/console', '/pki/console', true) : part('pki', '/pki', true),
      ...(each.args.some((argument) => argument.endsWith('=/data')) ? [part(each.name, '/data')] : []),
      ...(each.kind === 'front-proxy'
        ? [{ type: 'bind', source: './config', target: '/etc/multiplane', read_only: true }]
        : []),
    ],
    healthcheck: healthCheck(each),
    depends_on: {
      prepare: { condition: 'service_completed_successfully' },
      ...Object.fromEntries(each.needs.map((name) => [name, { condition: 'service_healthy' }])),
    },
  };
}

/** Makes the folders of all processes and the certificates; ends. */
const prepare = {
  profiles: ['sharded', 'monitoring'],
  image: images.multiplane,
  build: { context: '../..', dockerfile: 'deploy/docker/Dockerfile' },
  entrypoint: [
    '/bin/sh',
    '-ec',
    `umask 077; cd /data; mkdir -p ${[...processes.map(({ name }) => name), 'prometheus', 'grafana'].join(' ')}; exec /opt/multiplane/bin/multiplane "$$@"`,
    'prepare',
  ],
  command: [...pkiArguments({ ...place, pki: '/data/pki' })],
  ...hardened,
  restart: 'no',
  volumes: [{ type: 'volume', source: 'data', target: '/data' }],
};

/** Everything in one process. */
const single = {
  profiles: ['single'],
  image: images.multiplane,
  build: { context: '../..', dockerfile: 'deploy/docker/Dockerfile' },
  command: [
    'start',
    '--root-directory=/data',
    '--external-hostname=${MULTIPLANE_HOSTNAME:-localhost}',
    `--shard-external-url=${externalUrl}`,
    // Served by the same process at the same port.
    `--shard-virtual-workspace-url=${externalUrl}`,
    '--logging-format=json',
  ],
  ...hardened,
  stop_grace_period: '40s',
  ports: ['${MULTIPLANE_BIND:-127.0.0.1}:${MULTIPLANE_PORT:-6443}:6443'],
  volumes: [{ type: 'volume', source: 'single', target: '/data' }],
  healthcheck: { test: askReady('https://localhost:6443/readyz', '/data/ca.crt'), ...healthTiming },
};

/** Scrapes every process in the name of the group that Kubernetes lets read metrics, and nothing else. */
const prometheus = {
  profiles: ['monitoring'],
  image: images.prometheus,
  command: [
    '--config.file=/etc/multiplane/prometheus.yaml',
    '--storage.tsdb.path=/data',
    '--storage.tsdb.retention.time=15d',
  ],
  ...hardened,
  ports: ['127.0.0.1:${PROMETHEUS_PORT:-9090}:9090'],
  volumes: [
    part('pki', '/pki', true),
    part('prometheus', '/data'),
    { type: 'bind', source: './config', target: '/etc/multiplane', read_only: true },
    { type: 'bind', source: '../monitoring', target: '/etc/monitoring', read_only: true },
  ],
  healthcheck: {
    test: ['CMD', 'wget', '-q', '-O', '/dev/null', 'http://127.0.0.1:9090/-/ready'],
    interval: '10s',
    timeout: '5s',
  },
  depends_on: { prepare: { condition: 'service_completed_successfully' } },
};

const grafana = {
  profiles: ['monitoring'],
  image: images.grafana,
  ...hardened,
  environment: {
    GF_PATHS_DATA: '/data',
    GF_PATHS_PROVISIONING: '/etc/multiplane/grafana',
    GF_ANALYTICS_REPORTING_ENABLED: 'false',
    GF_ANALYTICS_CHECK_FOR_UPDATES: 'false',
    GF_SECURITY_ADMIN_PASSWORD: '${GRAFANA_PASSWORD:?set GRAFANA_PASSWORD in .env}',
  },
  ports: ['127.0.0.1:${GRAFANA_PORT:-3000}:3000'],
  volumes: [
    part('grafana', '/data'),
    { type: 'bind', source: './config/grafana', target: '/etc/multiplane/grafana', read_only: true },
    { type: 'bind', source: '../monitoring', target: '/etc/monitoring', read_only: true },
  ],
  healthcheck: {
    test: ['CMD', 'wget', '-q', '-O', '/dev/null', 'http://127.0.0.1:3000/api/health'],
    interval: '10s',
    timeout: '5s',
  },
  depends_on: {
    prepare: { condition: 'service_completed_successfully' },
    prometheus: { condition: 'service_healthy' },
  },
};

const header = `# GENERATED by hack/cluster/compose.ts from the same list of processes that 'make up PROFILE=sharded' starts; change it there.
#
#   cp .env.example .env
#   docker compose --profile single up --build --detach      everything in one process
#   docker compose --profile sharded up --build --detach     two shards on etcd, NATS, cache server, front-proxy
#   add --profile monitoring to the second for Prometheus and Grafana
#
# Needs Docker Engine 26 and Compose 2.26 or newer (volume.subpath). docs/operate.md says the rest.
`;

/** Every generated file: path below deploy/compose → content. */
export function composeFiles(): Readonly<Record<string, string>> {
  const services = {
    single,
    prepare,
    ...Object.fromEntries(processes.map((each) => [each.name, service(each)])),
    prometheus,
    grafana,
  };
  return {
    'compose.yaml':
      header +
      toYaml({
        name: 'multiplane',
        services,
        volumes: { data: { name: 'multiplane-data' }, single: { name: 'multiplane-single' } },
      }),
    ...Object.fromEntries(Object.entries(configFiles(place)).map(([name, content]) => [`config/${name}`, content])),
    'config/prometheus.yaml': prometheusConfig(),
  };
}

function prometheusConfig(): string {
  const ours = processes.filter(({ program }) => program === 'multiplane');
  return toYaml({
    global: { scrape_interval: '15s' },
    rule_files: ['/etc/monitoring/prometheus/*.rules.yaml'],
    scrape_configs: [
      {
        job_name: 'multiplane',
        scheme: 'https',
        tls_config: {
          ca_file: '/pki/serving-ca.crt',
          cert_file: '/pki/metrics-reader/tls.crt',
          key_file: '/pki/metrics-reader/tls.key',
        },
        static_configs: ours.map(({ name, kind, port }) => ({
          targets: [`${name}:${port}`],
          labels: { component: kind, process: name },
        })),
      },
    ],
  });
}

if (import.meta.main) {
  const folder = join(import.meta.dirname, '..', '..', 'deploy', 'compose');
  for (const [name, content] of Object.entries(composeFiles())) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
}
