import { randomUUID } from 'node:crypto';
import {
  AdmissionChain,
  BodyDecoder,
  LoopbackClient,
  ObjectStore,
  SchemaWorker,
  YamlWorker,
} from '@multiplane/apiserver';
import type { RestTransport } from '@multiplane/client';
import { ResourceLockWriter } from '@multiplane/controllers';
import { SystemSchemaChecks } from '../admission/system-schema-checks.ts';
import { ClaimLabels } from '../api-sharing/claim-labels.ts';
import { CelCostLimits } from '../limits/cel-cost-limits.ts';
import { StorageLimits } from '../limits/storage-limits.ts';
import type { ShardOptions } from '../options.ts';
import { ResourceScopes } from '../scopes/resource-scopes.ts';
import { ScopeIndex } from '../scopes/scope-index.ts';
import { ScopeSetIndex } from '../scopes/scope-set-index.ts';
import type { AccessControl } from './access-control.ts';
import { enabledPlugins } from './enabled-plugins.ts';
import { admissionPlugins } from './admission-plugins.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { ReadPath } from './read-path.ts';

interface Options {
  readonly features: Pick<ShardOptions['features'], 'enabled'>;
  readonly enableAdmissionPlugins: readonly string[];
  readonly disableAdmissionPlugins: readonly string[];
}

interface Modules extends Infrastructure, ReadPath, AccessControl {
  /** Sends requests to logical clusters of other shards; undefined without a client for them. */
  readonly remoteTransport: () => Pick<RestTransport, 'open'> | undefined;
}

export interface WritePath {
  readonly store: ObjectStore;
  readonly decoder: BodyDecoder;
  /** Writes from inside the process with every right, through the same stages. */
  readonly client: LoopbackClient;
  readonly yaml: YamlWorker;
  readonly schemaWorker: SchemaWorker;
  /** The labels that permission claims put on objects. */
  readonly claimLabels: ClaimLabels;
}

/** The stages of a write after authorization: decoding → admission → registry → storage. */
export function writePath(options: Options, modules: Modules): WritePath {
  const { cache, decoded, reader, resolver, builtIn, bindings, claimReferences, clock } = modules;
  const schemaWorker = new SchemaWorker({ clock });
  const costs = new CelCostLimits(modules);
  const schemaChecks = new SystemSchemaChecks({ slowly: schemaWorker, costs });
  const claimLabels = new ClaimLabels({ bindings, references: claimReferences });
  const { limits } = modules;
  const storageLimits = new StorageLimits({ usage: modules.cached.usage, limits, cache });
  const scopes = new ScopeIndex({ informers: modules.globalInformers, indexes: cache.indexes });
  const scopeSets = new ScopeSetIndex({ informers: modules.globalInformers });
  const plugins = admissionPlugins(options, {
    ...modules,
    scopes,
    scopeSets,
    claimLabels,
    schemaWorker,
    schemaChecks,
    storageLimits,
    store: () => store,
    changeLocks: (cluster, edit) => locks.update(cluster, edit),
  });
  const store: ObjectStore = new ObjectStore({
    cache,
    decoded,
    reader,
    resolver,
    admission: new AdmissionChain(
      enabledPlugins(plugins, { enable: options.enableAdmissionPlugins, disable: options.disableAdmissionPlugins }),
    ),
    clock,
    slowly: schemaChecks,
    capacity: storageLimits,
    protectedFields: new ResourceScopes({ scopes, sets: scopeSets }).fields,
    newUid: () => randomUUID(),
  });
  const builtInKinds = new Set(builtIn.map(({ group, version, kind }) => `${group}/${version}/${kind}`));
  const yaml = new YamlWorker({ clock });
  const decoder = new BodyDecoder({
    isBuiltInKind: (group, version, kind) => builtInKinds.has(`${group}/${version}/${kind}`),
    yaml,
  });
  const client = new LoopbackClient({}, { resolver, store });
  const locks = new ResourceLockWriter({ informers: modules.localInformers, client, clock });
  return { store, decoder, yaml, schemaWorker, claimLabels, client };
}
