import type { FieldError } from '@multiplane/apimachinery';
import type { CreateHandlerInput } from '../endpoints/create-handler.ts';

/** Runs the kind's own validation on a review. */
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
