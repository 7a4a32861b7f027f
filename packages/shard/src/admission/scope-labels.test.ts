import { describe, expect, test } from '@jest/globals';
import type { KubeObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { AdmissionAttributes } from '@multiplane/apiserver';
import {
  scopeFinalizersAnnotation,
  scopeProviderGroup,
  transferAnnotation,
  type APIExportScope,
} from '@multiplane/apis';
import { warrantExtra, warrantText, type Authorizer } from '@multiplane/generic-server';
import { FakeClock } from '@multiplane/testing';
import type { IndexedScope, ScopesByKey } from '../scopes/scope-index.ts';
import { ScopeLabels, type ScopeLabelsModules } from './scope-labels.ts';

const key = 'provider';
const provider = 'market' as LogicalClusterName;
const consumer = 'consumer' as LogicalClusterName;
const bound = { identity: 'identity' };

const scope = (name: string, spec: object = {}): IndexedScope => ({
  key,
  value: name,
  exportCluster: provider,
  exportName: 'market',
  identityHash: bound.identity,
  cluster: provider,
  name,
  object: {
    metadata: { name, creationTimestamp: '2020-01-01T00:00:00Z' },
    spec: { assignment: 'Consumer', transfer: 'WhenFinalizersGone', ...spec },
  } as unknown as APIExportScope,
});

const user = (more: Partial<UserInfo> = {}): UserInfo => ({ name: 'someone', uid: '', groups: [], extra: {}, ...more });
/** The user of a request through the virtual workspace of a scope. */
const through = (name: string): UserInfo =>
  user({
    extra: { [warrantExtra]: [warrantText(user({ name: 'vw', groups: [scopeProviderGroup(provider, name)] }))] },
  });

interface Case {
  readonly operation?: AdmissionAttributes['operation'];
  readonly as?: UserInfo;
  readonly labels?: Record<string, string>;
  readonly oldLabels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly finalizers?: string[];
  readonly subresource?: string;
  /** Undefined: a claimed resource. */
  readonly isBound?: boolean;
}

const objectOf = (metadata: object): KubeObject => ({
  apiVersion: 'market.example/v1',
  kind: 'Cluster',
  metadata: { name: 'one', creationTimestamp: '2021-01-01T00:00:00Z', ...metadata },
});

class Fixture {
  /** `<verb> <name>` that the user may on apiexportscopes. */
  readonly allowed = new Set<string>();
  readonly scopes: Map<string, IndexedScope>;
  readonly sets = new Map<
    string,
    { readonly cluster: LogicalClusterName; readonly name: string; readonly limit: number }
  >();
  readonly #plugin: ScopeLabels;

  constructor(...scopes: IndexedScope[]) {
    this.scopes = new Map(scopes.map((one) => [one.value, one]));
    const of = (identity: string): ScopesByKey =>
      new Map(identity === bound.identity && this.scopes.size > 0 ? [[key, this.scopes]] : []);
    const authorizer: Authorizer = {
      authorize: ({ verb, name, cluster }) => {
        const isAllowed = cluster === provider && this.allowed.has(`${verb} ${name}`);
        return Promise.resolve({ decision: isAllowed ? 'allow' : 'noOpinion', reason: '' });
      },
    };
    const modules = {
      scopes: {
        of,
        get: (cluster: string, name: string) => (cluster === provider ? this.scopes.get(name) : undefined),
      },
      sets: { of: () => this.sets },
      authorizer,
      clock: new FakeClock(Date.parse('2026-01-01T00:00:00Z')),
    };
    this.#plugin = new ScopeLabels(modules as unknown as ScopeLabelsModules);
  }

  /** The object as it is admitted. Throws what the plugin throws. */
  async admit(given: Case): Promise<KubeObject['metadata']> {
    const { operation = 'CREATE', as = user(), labels, oldLabels, annotations, finalizers } = given;
    const isUpdate = operation === 'UPDATE';
    const object = objectOf({
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(finalizers === undefined ? {} : { finalizers }),
    });
    const attributes = {
      operation,
      definition: {
        group: 'market.example',
        resource: 'clusters',
        kind: 'Cluster',
        ...(given.isBound === false ? {} : { bound }),
      },
      cluster: consumer,
      subresource: given.subresource ?? '',
      name: 'one',
      namespace: '',
      user: as,
      object: operation === 'DELETE' ? undefined : object,
      oldObject: operation === 'CREATE' ? undefined : objectOf(oldLabels === undefined ? {} : { labels: oldLabels }),
    } as unknown as AdmissionAttributes;
    await this.#plugin.admit(attributes);
    if (!isUpdate) this.#plugin.validate(attributes);
    return object.metadata;
  }

  async refused(given: Case): Promise<string> {
    try {
      await this.admit(given);
    } catch (error) {
      return `${(error as { code?: number }).code ?? ''} ${(error as Error).message}`;
    }
    return 'admitted';
  }
}

describe('the label of a scope', () => {
  test('is set by the consumer at creation if the scope allows it, else by who may assign', async () => {
    const on = new Fixture(scope('a'), scope('b', { assignment: 'Provider' }));
    expect((await on.admit({ labels: { [key]: 'a', other: 'x' } })).labels).toEqual({ [key]: 'a', other: 'x' });
    expect((await on.admit({ labels: { other: 'x' } })).labels).toEqual({ other: 'x' });
    expect(await on.refused({ labels: { [key]: 'b' } })).toMatch(/^403 .*APIExportScope "b" needs the verb "assign"/);
    on.allowed.add('assign b');
    expect((await on.admit({ labels: { [key]: 'b' } })).labels).toEqual({ [key]: 'b' });
  });

  test('has no value without a scope, unless a set makes scopes of the values that occur', async () => {
    const on = new Fixture(scope('a'));
    expect(await on.refused({ labels: { [key]: 'c' } })).toMatch(/^403 .*no APIExportScope has the value "c"/);
    on.sets.set(key, { cluster: provider, name: 'all', limit: 2 });
    expect(await on.refused({ labels: { [key]: 'c' } })).toMatch(/^403 .*needs the verb "create"/);
    on.allowed.add('create ');
    expect((await on.admit({ labels: { [key]: 'c' } })).labels).toEqual({ [key]: 'c' });
    on.scopes.set('b', scope('b'));
    expect(await on.refused({ labels: { [key]: 'c' } })).toMatch(/^403 .*limit of 2 values/);
  });

  test('is neither changed nor removed by the consumer', async () => {
    const on = new Fixture(scope('a'), scope('b'));
    const update = { operation: 'UPDATE', oldLabels: { [key]: 'a' } } as const;
    expect((await on.admit({ ...update, labels: { [key]: 'a', other: 'y' } })).labels).toEqual({
      [key]: 'a',
      other: 'y',
    });
    expect(await on.refused({ ...update, labels: { [key]: 'b' } })).toMatch(/^403 .*verb "assign"/);
    expect(await on.refused(update)).toMatch(/^403 .*cannot be removed/);
    on.allowed.add('assign a').add('assign b');
    expect((await on.admit({ ...update, labels: { [key]: 'b' } })).labels).toEqual({ [key]: 'b' });
  });

  test('is kept by writes of subresources, whatever they send', async () => {
    const on = new Fixture(scope('a'), scope('b'));
    const status = { operation: 'UPDATE', subresource: 'status', oldLabels: { [key]: 'a', other: 'x' } } as const;
    expect((await on.admit({ ...status, labels: { [key]: 'b', other: 'x' } })).labels).toEqual({
      [key]: 'a',
      other: 'x',
    });
    expect((await on.admit({ ...status, labels: { other: 'x' } })).labels).toEqual({ [key]: 'a', other: 'x' });
  });
});

describe('a request through the virtual workspace of a scope', () => {
  test('creates objects of the scope, and of no other', async () => {
    const on = new Fixture(scope('a', { assignment: 'Provider' }), scope('b'));
    expect((await on.admit({ as: through('a') })).labels).toEqual({ [key]: 'a' });
    expect((await on.admit({ as: through('a'), labels: { [key]: 'a', x: 'y' } })).labels).toEqual({
      [key]: 'a',
      x: 'y',
    });
    expect(await on.refused({ as: through('a'), labels: { [key]: 'b' } })).toMatch(/^403 .*must have value a/);
  });

  test('records the finalizers that it adds, and clients cannot write the records', async () => {
    const on = new Fixture(scope('a'));
    const forged = { [transferAnnotation]: '{}', [scopeFinalizersAnnotation]: '{"provider":["x"]}', other: 'kept' };
    const created = await on.admit({ as: through('a'), finalizers: ['f'], annotations: forged });
    expect(created.annotations).toEqual({ other: 'kept', [scopeFinalizersAnnotation]: '{"provider":["f"]}' });
    expect((await on.admit({ labels: { [key]: 'a' }, finalizers: ['f'], annotations: forged })).annotations).toEqual({
      other: 'kept',
    });
    // Also while there is no scope: a later one would trust them.
    expect((await new Fixture().admit({ annotations: forged })).annotations).toEqual({ other: 'kept' });
  });

  test('finds no object outside of the scope, within the write', async () => {
    const on = new Fixture(scope('a'), scope('b'));
    on.allowed.add('assign a').add('assign b');
    for (const oldLabels of [{ [key]: 'b' }, {}])
      for (const operation of ['UPDATE', 'DELETE'] as const)
        expect(await on.refused({ operation, as: through('a'), labels: oldLabels, oldLabels })).toMatch(
          /^404 clusters.market.example "one" not found/,
        );
    const own = { as: through('a'), labels: { [key]: 'a' }, oldLabels: { [key]: 'a' } };
    expect(await on.refused({ ...own, operation: 'UPDATE' })).toBe('admitted');
    expect(await on.refused({ ...own, operation: 'DELETE' })).toBe('admitted');
  });

  test('never changes the label, even if its user may assign', async () => {
    const on = new Fixture(scope('a'), scope('b'));
    on.allowed.add('assign a').add('assign b');
    const update = { operation: 'UPDATE', as: through('a'), oldLabels: { [key]: 'a' } } as const;
    expect(await on.refused({ ...update, labels: { [key]: 'b' } })).toMatch(
      /^403 .*cannot be changed through APIExportScope "a"/,
    );
    expect(await on.refused(update)).toMatch(/^403 /);
  });

  test('keeps the label of claimed objects', async () => {
    const on = new Fixture(scope('a'));
    const claimed = { isBound: false, as: through('a') } as const;
    expect((await on.admit(claimed)).labels).toEqual({ [key]: 'a' });
    const update = { ...claimed, operation: 'UPDATE', oldLabels: { [key]: 'a' } } as const;
    expect(await on.refused({ ...update, labels: { [key]: 'b' } })).toMatch(/^403 .*must have value a/);
    expect(await on.refused({ ...update, oldLabels: {}, labels: {} })).toMatch(/^404 /);
    // The claimed object is the consumer's own.
    expect(await on.refused({ isBound: false, operation: 'UPDATE', oldLabels: { [key]: 'a' } })).toBe('admitted');
  });

  test('is recognized by a warrant only, and needs a scope in force', async () => {
    const on = new Fixture(scope('a', { assignment: 'Provider' }));
    const group = scopeProviderGroup(provider, 'a');
    expect((await on.admit({ as: user({ groups: [group] }) })).labels).toBeUndefined();
    expect(await on.refused({ as: through('gone') })).toMatch(/^403 .*"gone" is not in force/);
  });
});
