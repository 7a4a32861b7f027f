import { statusErrors, type KubeObject } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { AdmissionAttributes, AdmissionPlugin } from '@multiplane/apiserver';
import { shards, type Shard } from '@multiplane/controllers';

/** Defaults the external and virtual workspace URLs of a Shard to its base URL (kcp `pkg/admission/shard`). */
export class ShardAdmission implements AdmissionPlugin {
  readonly name = 'tenancy.kcp.io/Shard';

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === shards.group && resource === shards.resource;
  }

  async admit({ definition, object, subresource }: AdmissionAttributes): Promise<void> {
    if (definition.group !== shards.group || definition.resource !== shards.resource || subresource !== '') return;
    const shard = object as (KubeObject & Shard) | undefined;
    if (shard === undefined) return;
    const baseURL = shard.spec?.baseURL;
    if (typeof baseURL !== 'string' || baseURL === '') throw statusErrors.untyped('spec.baseURL is required');
    const { externalURL, virtualWorkspaceURL } = shard.spec;
    shard.spec = {
      ...shard.spec,
      externalURL: given(externalURL) ?? baseURL,
      virtualWorkspaceURL: given(virtualWorkspaceURL) ?? baseURL,
    };
  }
}

const given = (url: string | undefined): string | undefined => (url === '' ? undefined : url);
