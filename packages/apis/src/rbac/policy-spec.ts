import type { JsonObject } from '@multiplane/apimachinery';

/** A role or cluster role of the bootstrap policy. */
export interface RoleSpec {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Label sets of the aggregation rule; a role that matches one of them is aggregated. */
  readonly aggregates?: readonly Readonly<Record<string, string>>[];
  readonly rules?: readonly JsonObject[];
}

/** A binding of the bootstrap policy. */
export interface BindingSpec {
  readonly name: string;
  readonly namespace?: string;
  readonly role: JsonObject;
  readonly subjects?: readonly JsonObject[];
}
