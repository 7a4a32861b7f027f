import { fieldErrors, FieldPath, type FieldError, type Json, type KubeObject } from '@multiplane/apimachinery';
import { numberAt, objectAt, textAt } from '../fields.ts';

const maxQueues = 10_000_000;
/** Bits of a request's hash that dealing a hand of queues may use up. */
const maxHashBits = 60;

/** Rules of a priority level's spec. */
export function priorityLevelErrors(object: KubeObject): FieldError[] {
  const path = FieldPath.of('spec');
  const type = textAt(object, 'spec', 'type');
  const limited = objectAt(object, 'spec', 'limited');
  const exempt = objectAt(object, 'spec', 'exempt');
  const errors: FieldError[] = [];
  if ((object.metadata.name === 'exempt') !== (type === 'Exempt')) {
    errors.push(fieldErrors.invalid(path.child('type'), type, "must be 'Exempt' if and only if `name` is 'exempt'"));
  }
  switch (type) {
    case 'Exempt':
      if (limited !== undefined) {
        errors.push(fieldErrors.forbidden(path.child('limited'), 'must be nil if the type is not Limited'));
      }
      if (exempt !== undefined) errors.push(...shareErrors(exempt, path.child('exempt')));
      return errors;
    case 'Limited':
      if (exempt !== undefined) {
        errors.push(fieldErrors.forbidden(path.child('exempt'), 'must be nil if the type is Limited'));
      }
      if (limited === undefined) {
        errors.push(fieldErrors.required(path.child('limited'), 'must not be empty when type is Limited'));
      } else {
        errors.push(...limitedErrors(limited, path.child('limited')));
      }
      return errors;
    default:
      return [...errors, fieldErrors.notSupported(path.child('type'), type, ['Exempt', 'Limited'])];
  }
}

function sharesErrors(level: Json, path: FieldPath): FieldError[] {
  const shares = numberAt(level, 'nominalConcurrencyShares') ?? 0;
  return shares >= 0
    ? []
    : [fieldErrors.invalid(path.child('nominalConcurrencyShares'), shares, 'must be a non-negative integer')];
}

function lendableErrors(level: Json, path: FieldPath): FieldError[] {
  const lendable = numberAt(level, 'lendablePercent') ?? 0;
  return lendable >= 0 && lendable <= 100
    ? []
    : [fieldErrors.invalid(path.child('lendablePercent'), lendable, 'must be between 0 and 100, inclusive')];
}

const shareErrors = (level: Json, path: FieldPath): FieldError[] => [
  ...sharesErrors(level, path),
  ...lendableErrors(level, path),
];

function limitedErrors(limited: Json, path: FieldPath): FieldError[] {
  const errors = [
    ...sharesErrors(limited, path),
    ...limitResponseErrors(objectAt(limited, 'limitResponse') ?? {}, path.child('limitResponse')),
    ...lendableErrors(limited, path),
  ];
  const borrowing = numberAt(limited, 'borrowingLimitPercent');
  if (borrowing !== undefined && borrowing < 0) {
    const detail = 'if specified, must be a non-negative integer';
    errors.push(fieldErrors.invalid(path.child('borrowingLimitPercent'), borrowing, detail));
  }
  return errors;
}

function limitResponseErrors(response: Json, path: FieldPath): FieldError[] {
  const type = textAt(response, 'type');
  const queuing = objectAt(response, 'queuing');
  const where = path.child('queuing');
  switch (type) {
    case 'Reject':
      return queuing === undefined
        ? []
        : [fieldErrors.forbidden(where, 'must be nil if limited.limitResponse.type is not Limited')];
    case 'Queue':
      return queuing === undefined
        ? [fieldErrors.required(where, 'must not be empty if limited.limitResponse.type is Limited')]
        : queuingErrors(queuing, where);
    default:
      return [fieldErrors.notSupported(path.child('type'), type, ['Queue', 'Reject'])];
  }
}

function queuingErrors(queuing: Json, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const value = (field: string): number => Number(numberAt(queuing, field) ?? 0);
  const wrong = (field: string, detail: string): void =>
    void errors.push(fieldErrors.invalid(path.child(field), value(field), detail));
  const queues = value('queues');
  const handSize = value('handSize');
  if (value('queueLengthLimit') <= 0) wrong('queueLengthLimit', 'must be positive');
  if (queues <= 0) wrong('queues', 'must be positive');
  else if (queues > maxQueues) wrong('queues', `must not be greater than ${maxQueues}`);
  if (handSize <= 0) {
    wrong('handSize', 'must be positive');
  } else if (handSize > queues) {
    wrong('handSize', `should not be greater than queues (${queues})`);
  } else if (Math.ceil(Math.log2(queues) * handSize) > maxHashBits) {
    wrong(
      'handSize',
      `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${maxHashBits}`,
    );
  }
  return errors;
}
