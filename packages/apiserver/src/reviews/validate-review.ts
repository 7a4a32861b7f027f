import type { FieldError } from '@multiplane/apimachinery';
import type { CreateHandlerInput } from '../endpoints/create-handler.ts';

/** Validates a review by the strategy of its kind. */
export async function validateReview(input: CreateHandlerInput): Promise<FieldError[]> {
  const { context, definition, cluster, namespace, object, dryRun } = input;
  return definition.strategy.validate(
    {
      user: context.user,
      cluster,
      namespace,
      now: () => new Date(context.receivedAt),
      dryRun,
      warn: (text) => context.warn(text),
    },
    object,
  );
}
