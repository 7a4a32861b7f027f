import type { FieldError, KubeObject } from '@multiplane/apimachinery';
import type { StrategyContext } from '../resource-definition.ts';
import { hasManyExpressions } from './policy-expressions.ts';

/** Errors of an object whose expressions are compiled for validation: in a worker, where there are many. */
export function expressionsChecked(
  { slowly, cluster, request }: StrategyContext,
  object: KubeObject,
  validate: (object: KubeObject) => FieldError[],
): FieldError[] | Promise<FieldError[]> {
  return slowly === undefined || !hasManyExpressions(object)
    ? validate(object)
    : slowly.definition(cluster, object, undefined, request);
}
