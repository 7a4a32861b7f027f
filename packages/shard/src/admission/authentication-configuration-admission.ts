import { deepEqual, fieldErrorText, FieldPath, statusErrors, type Json } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import {
  JwtExpressions,
  readJwtConfiguration,
  validateJwt,
  type AdmissionAttributes,
  type AdmissionPlugin,
} from '@multiplane/apiserver';
import { authenticationConfigurations, type AuthenticationConfigurationObject } from '@multiplane/controllers';

/** Complaints that are told at most: each is a header. */
const maxWarnings = 16;

/**
 * WorkspaceAuthenticationConfigurations (C2.3): an expression that does not compile is refused, since everybody whom it is
 * meant for would stay outside without being told why. The reference takes it. What the reference takes, too, and cannot
 * work either (no https, no audience, no prefix, …) is stored as there, with warnings: such an entry is passed over when
 * somebody shows a token.
 */
export class AuthenticationConfigurationAdmission implements AdmissionPlugin {
  readonly name = 'tenancy.kcp.io/WorkspaceAuthenticationConfiguration';
  readonly #expressions = new JwtExpressions();

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
    const { spec, metadata } = object as AuthenticationConfigurationObject;
    // What stands there already is not judged again: its labels and finalizers stay changeable.
    const before = (oldObject as AuthenticationConfigurationObject | undefined)?.spec;
    if (before !== undefined && deepEqual(before, spec)) return;
    const errors = (spec?.jwt ?? []).flatMap((entry: Json, index) => [
      ...validateJwt(readJwtConfiguration(entry), FieldPath.of('spec', 'jwt').index(index), {
        expressions: this.#expressions,
        disallowedIssuers: [],
      }).errors,
    ]);
    const isOfExpression = ({ field, detail }: (typeof errors)[number]): boolean =>
      /[eE]xpression$/.test(field) && /^(?:compilation failed|must evaluate)/.test(detail);
    const broken = errors.filter(isOfExpression);
    if (broken.length > 0)
      throw statusErrors.invalid({ group, kind: definition.kind }, metadata.name ?? attributes.name, broken);
    for (const error of errors.slice(0, maxWarnings))
      attributes.warn(`this entry will not be used: ${fieldErrorText(error)}`);
  }
}
