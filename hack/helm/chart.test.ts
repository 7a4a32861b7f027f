import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { unlessMissing } from '@multiplane/testing';
import { cacheServerOptionTable } from '../../packages/cache-server/src/options.ts';
import { parseOptions } from '../../packages/component-base/src/options/parse-options.ts';
import { consoleServerOptionTable } from '../../packages/console/src/server/options.ts';
import { frontProxyOptionTable } from '../../packages/front-proxy/src/options.ts';
import { shardOptionTable } from '../../packages/shard/src/options.ts';
import { virtualWorkspacesOptionTable } from '../../packages/virtual-workspaces/src/options.ts';
import { localPlace, topology } from '../../packages/multiplane/src/topology/index.ts';
import { matrix, releases, renderedFolder, sourceLine, templateArguments } from './chart.ts';
import { manifestsOf, type Manifest, type Probe } from './manifests.ts';

const helm = spawnSync('helm', ['version', '--short'], { encoding: 'utf8' });
const withHelm = unlessMissing(helm.status === 0 ? undefined : 'helm is not on the PATH; install Helm 3', test);
const read = (release: string): string => readFileSync(join(renderedFolder, `${release}.yaml`), 'utf8');
const template = (release: string): string => {
  const { status, stdout, stderr } = spawnSync('helm', templateArguments(release), { encoding: 'utf8' });
  if (status !== 0) throw new Error(`helm does not render ${release}: ${stderr}`);
  return stdout;
};

// Without Helm only the releases that are committed are judged.
const names = helm.status === 0 ? Object.keys(matrix) : Object.keys(releases);
const parsed = new Map(
  names.map((release) => [release, manifestsOf(release in releases ? read(release) : template(release))]),
);
const rendered = (release: string): Manifest[] => parsed.get(release) ?? [];
const workloadsOf = (release: string): Manifest[] =>
  rendered(release).filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet');
const flagNames = (args: readonly string[]): string[] => args.map((argument) => argument.split('=')[0] as string);

/** The Secret that the release `issuers` names instead of one that cert-manager creates. */
const givenAuthority = 'workspaces-ca';

const optionTables = {
  shard: shardOptionTable,
  'front-proxy': frontProxyOptionTable,
  'cache-server': cacheServerOptionTable,
  console: consoleServerOptionTable,
  'virtual-workspaces': virtualWorkspacesOptionTable,
};

describe.each(Object.keys(releases))('committed release %s', (release) => {
  test('was rendered from the chart as it is (hack/node hack/helm/render.ts renews it)', () => {
    expect(read(release).startsWith(sourceLine(release))).toBe(true);
  });

  withHelm('helm renders the same', () => {
    // oxlint-disable-next-line jest/no-standalone-expect -- a test calls it
    expect(manifestsOf(template(release))).toEqual(rendered(release));
  });
});

describe.each(names)('release %s', (release) => {
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
        expect(container.securityContext).toMatchObject({
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

  test('every flag of our servers is one that they have, with a value that they accept', () => {
    for (const { metadata, spec } of workloadsOf(release))
      for (const { name, args } of spec.template?.spec.containers ?? []) {
        if (!(name in optionTables)) continue;
        const [command, ...flags] = args;
        expect([metadata.name, command]).toEqual([metadata.name, name]);
        const { operands, given } = parseOptions(optionTables[name as keyof typeof optionTables], { args: flags });
        expect([metadata.name, operands]).toEqual([metadata.name, []]);
        expect(given.size).toBeGreaterThan(5);
      }
  });

  test('names fit into what Kubernetes makes of them', () => {
    for (const { kind, metadata } of rendered(release)) {
      expect(metadata.name).toMatch(/^[a-z]([-a-z0-9]*[a-z0-9])?$/);
      if (kind === 'Service') expect(metadata.name.length).toBeLessThanOrEqual(63);
      if (kind === 'StatefulSet') expect(metadata.name.length).toBeLessThanOrEqual(52);
    }
  });

  test('with cert-manager exactly the Secrets that are mounted are asked for, and those for people', () => {
    const asked = rendered(release).flatMap(({ kind, spec }) =>
      kind === 'Certificate' ? (spec.secretName ?? []) : [],
    );
    if (asked.length === 0) return;
    const mounted = workloadsOf(release).flatMap(({ spec }) =>
      (spec.template?.spec.volumes ?? []).flatMap(({ projected }) =>
        (projected?.sources ?? []).flatMap(({ secret }) => secret?.name ?? []),
      ),
    );
    // No pod mounts the authority of etcd and NATS where both are outside: it still signs the client certificate for them.
    const further = ['kcp-admin', 'metrics-reader', 'storage-ca'].map((name) => `mp-multiplane-${name}`);
    const wanted = [...mounted, ...further].filter((name) => name !== givenAuthority);
    expect([...new Set(asked)].toSorted()).toEqual([...new Set(wanted)].toSorted());
    expect(mounted.length).toBeGreaterThan(10);
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

/** The Secrets that a pod mounts, with their keys. */
const secretsOf = ({ spec }: Manifest): { readonly name: string; readonly keys: readonly string[] }[] =>
  (spec.template?.spec.volumes ?? []).flatMap(({ projected }) =>
    (projected?.sources ?? []).flatMap(({ secret }) =>
      secret === undefined ? [] : [{ name: secret.name, keys: secret.items.map(({ key }) => key) }],
    ),
  );

test.each(names)(
  '%s: all shards sign certificates of workspaces with one CA, which the front-proxy accepts; keys of other authorities are never mounted',
  (release) => {
    const workspaceCa = release === 'issuers' ? givenAuthority : 'mp-multiplane-workspace-ca';
    const workloads = workloadsOf(release);
    const signing = workloads.filter(({ metadata }) => metadata.name.startsWith('mp-multiplane-shard-'));
    expect(signing.length).toBeGreaterThan(0);
    for (const workload of workloads) {
      const isShard = signing.includes(workload);
      const authorities = secretsOf(workload).filter(({ name }) => name.endsWith('-ca'));
      for (const { name, keys } of authorities)
        expect([workload.metadata.name, name, keys]).toEqual([
          workload.metadata.name,
          name,
          isShard && name === workspaceCa ? ['tls.crt', 'tls.key'] : ['tls.crt'],
        ]);
      const { name } = workload.metadata;
      expect([name, authorities.some((each) => each.name === workspaceCa)]).toEqual([
        name,
        isShard || name.endsWith('-front-proxy'),
      ]);
    }
    const made = rendered(release).filter(
      ({ kind, spec }) => kind === 'Certificate' && spec.secretName === 'mp-multiplane-workspace-ca',
    );
    expect(made).toHaveLength(['external', 'issuers'].includes(release) ? 0 : 1);
    // A CA that a company's issuer signed could be one that also signs administrators.
    for (const { spec } of made)
      expect(spec).toMatchObject({ isCA: true, issuerRef: { name: 'mp-multiplane-self-signed' } });
  },
);

test('readiness fails before liveness: a server that does not answer gets no requests long before it is killed', () => {
  for (const release of names)
    for (const { metadata, spec } of workloadsOf(release))
      for (const { readinessProbe, livenessProbe } of spec.template?.spec.containers ?? []) {
        const [unreadyAfter, killedAfter] = [readinessProbe, livenessProbe].map(
          ({ periodSeconds = 10, failureThreshold = 3, timeoutSeconds = 1 }: Partial<Probe> = {}) =>
            periodSeconds * (failureThreshold - 1) + timeoutSeconds,
        ) as [number, number];
        expect([metadata.name, killedAfter >= 2 * unreadyAfter]).toEqual([metadata.name, true]);
      }
});
