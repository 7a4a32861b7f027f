import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parseYaml } from '../../packages/apimachinery/src/yaml/yaml-codec.ts';
import { localPlace } from '../cluster/local-place.ts';
import { topology } from '../cluster/topology.ts';
import { chartFolder, releases, renderedFolder, sourceLine, templateArguments } from './chart.ts';

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}
interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly readinessProbe?: object;
  readonly livenessProbe?: Probe;
  readonly startupProbe?: Probe;
  readonly resources: { readonly limits?: { readonly memory?: string } };
  readonly ports: readonly { readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}
interface Source {
  readonly secret?: {
    readonly name: string;
    readonly items: readonly { readonly key: string; readonly path: string }[];
  };
  readonly configMap?: { readonly name: string; readonly items: readonly { readonly path: string }[] };
}
interface Volume {
  readonly name: string;
  readonly projected?: { readonly sources: readonly Source[] };
}
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly secretName?: string;
    readonly selector?: Readonly<Record<string, unknown>>;
    readonly template?: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly securityContext: Readonly<Record<string, unknown>>;
        readonly automountServiceAccountToken: boolean;
        readonly containers: readonly Container[];
        readonly volumes: readonly Volume[];
      };
    };
    readonly ports?: readonly { readonly port: number }[];
  };
}

const read = (release: string): string => readFileSync(join(renderedFolder, `${release}.yaml`), 'utf8');
const manifestsOf = (text: string): Manifest[] =>
  text
    .split(/^---$/m)
    .map((document) => parseYaml(document) as unknown as Manifest | null)
    .filter((manifest) => manifest !== null);
const parsed = new Map(Object.keys(releases).map((release) => [release, manifestsOf(read(release))]));
const rendered = (release: string): Manifest[] => parsed.get(release) ?? [];
const workloadsOf = (release: string): Manifest[] =>
  rendered(release).filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
const flagNames = (args: readonly string[]): string[] => args.map((argument) => argument.split('=')[0] as string);

const helm = spawnSync('helm', ['version', '--short'], { encoding: 'utf8' });
const withHelm = helm.status === 0 ? test : test.skip;

describe.each(Object.keys(releases))('release %s', (release) => {
  test('was rendered from the chart as it is (hack/node hack/helm/render.ts renews it)', () => {
    expect(read(release).startsWith(sourceLine(release))).toBe(true);
  });

  withHelm('helm renders the same (skipped where there is no helm)', () => {
    const { stdout, stderr } = spawnSync('helm', templateArguments(release), { encoding: 'utf8' });
    // oxlint-disable-next-line jest/no-standalone-expect -- it stands in a test
    expect([stderr, manifestsOf(stdout)]).toEqual(['', rendered(release)]);
  });

  test('every object has a name of its own', () => {
    const names = rendered(release).map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    expect(names).toEqual([...new Set(names)]);
  });

  test('pods may do as little as possible, say how they are and have a bound on memory', () => {
    for (const { metadata, spec } of workloadsOf(release)) {
      const pod = spec.template?.spec;
      expect([metadata.name, pod?.securityContext]).toEqual([
        metadata.name,
        expect.objectContaining({ runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } }),
      ]);
      expect(pod?.automountServiceAccountToken).toBe(false);
      for (const container of pod?.containers ?? []) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.readinessProbe).toBeDefined();
        expect(container.livenessProbe).toBeDefined();
        // One of ours that reads much at its start answers while it does: that is no reason to kill it.
        if (container.livenessProbe?.httpGet.port === 'https')
          expect(container.startupProbe?.httpGet).toEqual(container.livenessProbe.httpGet);
        expect(container.resources.limits?.memory).toMatch(/^\d+[MG]i$/);
        expect(container.image).toMatch(/:[\w.-]+$/);
      }
    }
  });

  test('selectors select exactly the pods of their own workload', () => {
    const workloads = workloadsOf(release);
    for (const { metadata, spec } of rendered(release).filter(({ kind }) => kind === 'Service')) {
      const wanted = Object.entries(spec.selector ?? {});
      const selected = workloads.filter(({ spec: { template } }) =>
        wanted.every(([key, value]) => template?.metadata.labels[key] === value),
      );
      expect(selected.map((workload) => workload.metadata.name)).toEqual([metadata.name]);
    }
  });

  test('every file that a flag names is mounted', () => {
    for (const { metadata, spec } of workloadsOf(release)) {
      const pod = spec.template?.spec;
      const sources = pod?.volumes.find(({ name }) => name === 'pki')?.projected?.sources ?? [];
      const mounted = sources.flatMap(({ secret, configMap }) => (secret ?? configMap)?.items.map(({ path }) => path));
      const named = (pod?.containers ?? []).flatMap(({ args }) =>
        args.flatMap((argument) => /=\/pki\/(.*)$/.exec(argument)?.[1] ?? []),
      );
      expect([metadata.name, named.filter((path) => !mounted.includes(path))]).toEqual([metadata.name, []]);
      expect(named.length).toBeGreaterThan(1);
    }
  });

  test('kubeconfigs name only files that lie beside them', () => {
    const kubeconfigs = rendered(release).find(({ metadata }) => metadata.name === 'mp-multiplane-kubeconfigs');
    for (const { metadata, spec } of workloadsOf(release)) {
      const sources = spec.template?.spec.volumes.find(({ name }) => name === 'pki')?.projected?.sources ?? [];
      const mounted = sources.flatMap(({ secret, configMap }) => (secret ?? configMap)?.items.map(({ path }) => path));
      for (const path of mounted.filter((each) => each?.endsWith('.kubeconfig'))) {
        const text = kubeconfigs?.data?.[path as string] ?? '';
        const files = [...text.matchAll(/(?:certificate-authority|client-certificate|client-key): ([^,}\s]+)/g)];
        expect(files.length).toBeGreaterThanOrEqual(3);
        for (const [, file] of files)
          expect([metadata.name, mounted]).toEqual([metadata.name, expect.arrayContaining([file])]);
      }
    }
  });
});

test('the chart starts the processes of the topology with the same flags', () => {
  // Their values differ, and where storage has a certificate of its own, so does its folder.
  const further = new Set([
    '--logging-format',
    '--v',
    '--shutdown-delay-duration',
    '--enable-leader-election',
    '--etcd-prefix',
    '--nats-stream',
    '--nats-subject-prefix',
  ]);
  const workloads = workloadsOf('default');
  const planned = topology(localPlace({ directory: '/x', shards: ['root', 'shard-1'] }));
  expect(workloads.map(({ metadata }) => metadata.name).toSorted()).toEqual(
    planned.map(({ name }) => `mp-multiplane-${name}`).toSorted(),
  );
  for (const { name, args } of planned) {
    const workload = workloads.find(({ metadata }) => metadata.name === `mp-multiplane-${name}`);
    const flags = flagNames(workload?.spec.template?.spec.containers[0]?.args ?? []).filter(
      (flag) => !further.has(flag),
    );
    expect([name, flags.toSorted()]).toEqual([name, flagNames(args).toSorted()]);
  }
});

test('with cert-manager every Secret that is mounted is asked for', () => {
  const manifests = rendered('default');
  const asked = new Set(manifests.filter(({ kind }) => kind === 'Certificate').map(({ spec }) => spec.secretName));
  const mounted = workloadsOf('default').flatMap(({ spec }) =>
    (spec.template?.spec.volumes ?? []).flatMap(({ projected }) =>
      (projected?.sources ?? []).flatMap(({ secret }) => secret?.name ?? []),
    ),
  );
  expect(mounted.filter((name) => !asked.has(name))).toEqual([]);
  expect(mounted.length).toBeGreaterThan(20);
});

test('keys of authorities are never mounted', () => {
  for (const release of Object.keys(releases)) {
    const secrets = workloadsOf(release).flatMap(({ spec }) =>
      (spec.template?.spec.volumes ?? []).flatMap(({ projected }) =>
        (projected?.sources ?? []).flatMap(({ secret }) => secret ?? []),
      ),
    );
    for (const { name, items } of secrets.filter((secret) => secret.name.endsWith('-ca')))
      expect([name, items.map(({ key }) => key)]).toEqual([name, ['tls.crt']]);
  }
});

describe('values', () => {
  interface Schema {
    readonly properties?: Readonly<Record<string, Schema>>;
    readonly additionalProperties?: boolean;
  }
  const values = parseYaml(readFileSync(join(chartFolder, 'values.yaml'), 'utf8')) as Record<string, unknown>;
  const schema = JSON.parse(readFileSync(join(chartFolder, 'values.schema.json'), 'utf8')) as Schema;

  test('all defaults stand in the schema', () => {
    const missing: string[] = [];
    const compare = (value: unknown, part: Schema, path: string): void => {
      if (part.properties === undefined || typeof value !== 'object' || value === null) return;
      for (const [key, member] of Object.entries(value)) {
        const next = part.properties[key];
        if (next !== undefined) compare(member, next, `${path}.${key}`);
        else if (part.additionalProperties === false) missing.push(`${path}.${key}`);
      }
    };
    compare(values, schema, '');
    expect(missing).toEqual([]);
    expect(schema.additionalProperties).toBe(false);
  });

  test("the keys of kcp's chart are there", () => {
    const keys = [
      'externalHostname externalPort global.imagePullSecrets etcd.enabled etcd.image etcd.tag etcd.resources etcd.volumeSize',
      'etcd.storageClassName etcd.profiling etcd.monitoring.serviceMonitor.enabled etcd.podDisruptionBudget kcp.replicas',
      'kcp.strategy kcp.image kcp.tag kcp.pullPolicy kcp.v kcp.batteries kcp.leaderElection.enabled kcp.extraFlags',
      'kcp.resources kcp.etcd.serverAddress kcp.etcd.clientCertificate.issuer kcp.profiling kcp.tokenAuth',
      'kcp.authorization.webhook.secretName kcp.hostAliases kcp.homeWorkspaces.enabled kcp.podSecurityContext',
      'kcp.containerSecurityContext kcp.monitoring kcp.podDisruptionBudget kcp.extraVolumes kcp.extraVolumeMounts',
      'kcpFrontProxy.replicas kcpFrontProxy.openshiftRoute kcpFrontProxy.ingress kcpFrontProxy.gateway',
      'kcpFrontProxy.service kcpFrontProxy.certificateIssuer kcpFrontProxy.additionalPathMappings',
      'kcpFrontProxy.extraDNSNames kcpFrontProxy.extraFlags authentication.configMapRef.name oidc.enabled audit.enabled',
      'letsEncrypt.enabled development.rootIdentities',
    ].flatMap((line) => line.split(' '));
    const has = (path: string): boolean => {
      let current: unknown = values;
      for (const key of path.split('.')) current = (current as Record<string, unknown> | undefined)?.[key];
      return current !== undefined;
    };
    expect(keys.filter((path) => !has(path))).toEqual([]);
  });
});

withHelm('helm lint finds nothing wrong (skipped where there is no helm)', () => {
  const { status, stdout } = spawnSync('helm', ['lint', chartFolder, '--set', 'externalHostname=a.example.org'], {
    encoding: 'utf8',
  });
  // oxlint-disable-next-line jest/no-standalone-expect -- it stands in a test
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('0 chart(s) failed') });
});
const refused = helm.status === 0 ? test.each : test.skip.each;
refused([
  [[], 'externalHostname is required'],
  [['externalHostname=a', 'shards[0].name=eu'], 'one of the shards must be called root'],
  [['externalHostname=a', 'etcd.enabled=false'], 'etcd.enabled=false needs etcd.serverAddress for shard root'],
  [['externalHostname=a', 'kcp.leaderElection.enabled=false'], 'kcp.leaderElection.enabled must be true'],
  [['externalHostname=a', 'oidc.enabled=true'], 'oidc.enabled needs oidc.issuerUrl and oidc.clientId'],
  [['externalHostname=a', 'letsEncrypt.enabled=true'], 'letsEncrypt is not supported'],
  [['externalHostname=a', 'kcp.replica=1'], 'additional properties'],
])('helm refuses %j (skipped where there is no helm)', (values, message) => {
  const args = ['template', 'mp', chartFolder, '--kube-version=1.32.0', ...values.flatMap((value) => ['--set', value])];
  const { status, stderr } = spawnSync('helm', args, { encoding: 'utf8' });
  // oxlint-disable-next-line jest/no-standalone-expect -- it stands in a test
  expect([status, stderr]).toEqual([1, expect.stringContaining(message)]);
});
