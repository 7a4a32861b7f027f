import {
  deepEqual,
  fieldErrors,
  fieldErrorText,
  FieldPath,
  type FieldError,
  type Json,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { JwtCelCompiler, type AdmissionAttributes, type AdmissionPlugin } from '@multiplane/apiserver';
import { timeSlices } from '@multiplane/component-base';
import { authenticationConfigurations, type AuthenticationConfigurationObject } from '@multiplane/controllers';
import { expressionLimitError, readJwtConfiguration, validateJwt } from '@multiplane/generic-server';

/** Issuers of one workspace type that authentication uses. */
const maxIssuers = 64;
/** Each warning is a response header. */
const maxWarnings = 16;

/**
 * Validates WorkspaceAuthenticationConfigurations. Entries that cannot work (no https, no audience, an expression that
 * does not compile, …) are stored with a warning, as kcp stores them; authentication does not use them.
 */
export class AuthenticationConfigurationAdmission implements AdmissionPlugin {
  readonly name = 'tenancy.kcp.io/WorkspaceAuthenticationConfiguration';
  readonly #expressions = new JwtCelCompiler();

  handles(operation: AdmissionAttributes['operation']): boolean {
    return operation === 'CREATE' || operation === 'UPDATE';
  }

  concerns({ group, resource }: ResourceDefinition): boolean {
    return group === authenticationConfigurations.group && resource === authenticationConfigurations.resource;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { definition, subresource, object, oldObject } = attributes;
    const { group, resource } = authenticationConfigurations;
    if (definition.group !== group || definition.resource !== resource || subresource !== '') return;
    const { spec } = object as AuthenticationConfigurationObject;
    // An unchanged spec is not validated again, so that labels and finalizers of old objects stay writable.
    const before = (oldObject as AuthenticationConfigurationObject | undefined)?.spec;
    if (before !== undefined && deepEqual(before, spec)) return;
    const errors = await this.#problems(spec?.jwt ?? [], attributes.cluster);
    for (const error of errors.slice(0, maxWarnings))
      attributes.warn(`this entry will not be used: ${fieldErrorText(error)}`);
  }

  async #problems(entries: readonly Json[], cluster: string): Promise<FieldError[]> {
    const root = FieldPath.of('spec', 'jwt');
    const errors: FieldError[] =
      entries.length > maxIssuers ? [fieldErrors.tooMany(root, entries.length, maxIssuers)] : [];
    const slices = timeSlices(cluster);
    for (const [index, entry] of entries.slice(0, maxIssuers).entries()) {
      if (slices.isExceeded) await slices.yield();
      const path = root.index(index);
      const configuration = readJwtConfiguration(entry);
      const excess = expressionLimitError(configuration, path);
      if (excess !== undefined) errors.push(excess);
      else
        errors.push(
          ...validateJwt(configuration, path, { expressions: this.#expressions, disallowedIssuers: [] }).errors,
        );
    }
    return errors;
  }
}
