import { useState, type ReactElement } from 'react';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { Field } from '../../components/field.tsx';
import { Icon, type IconName } from '../../components/icon.tsx';
import { Notice } from '../../components/notice.tsx';
import { clusterPath } from '../../data/api-paths.ts';
import { useApp } from '../../hooks/app-context.ts';
import { useDiscovery } from '../../hooks/use-discovery.ts';
import {
  askedOf,
  explain,
  groupsOf,
  questionCommand,
  reviewOf,
  verdict,
  type AccessQuestion,
  type AccessStep,
  type ExplainedReview,
  type Outcome,
} from '../../model/access-explanation.ts';
import { kubectlName } from '../../model/discovery.ts';

const verbs = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'bind',
  'use',
  'access',
  'impersonate',
];
const marks: Readonly<Record<Outcome, IconName>> = {
  passed: 'check',
  allowed: 'check',
  refused: 'close',
  skipped: 'more',
};
const outcomeTexts: Readonly<Record<Outcome, string>> = {
  passed: 'Passed',
  allowed: 'Allowed',
  refused: 'Denied',
  skipped: 'Not asked',
};
const tones = { passed: 'neutral', allowed: 'good', refused: 'bad', skipped: 'neutral' } as const;

interface Answer {
  readonly question: AccessQuestion;
  readonly review: ExplainedReview;
}

/** Asks the control plane about a user, and shows the answer of each authorizer. */
export function DeniedTab({ cluster }: { readonly cluster: string }): ReactElement {
  const { api, session } = useApp();
  const { data: resources = [] } = useDiscovery(cluster);
  const [user, setUser] = useState(session.user.name);
  const [groups, setGroups] = useState('');
  const [verb, setVerb] = useState('list');
  const [resource, setResource] = useState('configmaps');
  const [namespace, setNamespace] = useState('');
  const [name, setName] = useState('');
  const [answer, setAnswer] = useState<Answer>();
  const [error, setError] = useState<Error>();
  const [isBusy, setIsBusy] = useState(false);
  const ask = async (): Promise<void> => {
    const isSelf = user === session.user.name && groups.trim() === '';
    const question: AccessQuestion = {
      ...askedOf({ resource, namespace, name }, resources),
      user,
      groups: isSelf ? session.user.groups : groupsOf(user, groups),
      verb,
    };
    setIsBusy(true);
    setError(undefined);
    try {
      const review = await api.json<ExplainedReview>(
        `${clusterPath(cluster)}/apis/authorization.k8s.io/v1/subjectaccessreviews?explain=true`,
        { method: 'POST', body: JSON.stringify(reviewOf(question)) },
      );
      setAnswer({ question, review });
    } catch (failure) {
      setAnswer(undefined);
      setError(failure as Error);
    }
    setIsBusy(false);
  };
  return (
    <div className="stack">
      <Card
        title="Ask about a user"
        description="The control plane answers as it would answer a request, and every authorizer gives its reason."
      >
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void ask();
          }}
        >
          <div className="access-question">
            <TextField label="User" value={user} onChange={setUser} isRequired hint="Or system:serviceaccount:…" />
            <TextField label="Groups" value={groups} onChange={setGroups} hint="Separated by commas" isOptional />
            <Field label="Verb">
              {(control) => (
                <select {...control} className="input" value={verb} onChange={(event) => setVerb(event.target.value)}>
                  {verbs.map((each) => (
                    <option key={each} value={each}>
                      {each}
                    </option>
                  ))}
                </select>
              )}
            </Field>
            <TextField
              label="Resource"
              value={resource}
              onChange={setResource}
              isRequired
              hint="With its group; or a path, such as /metrics"
              suggestions={resources.map(kubectlName)}
            />
            <TextField
              label="Namespace"
              value={namespace}
              onChange={setNamespace}
              hint="Empty: all of them"
              isOptional
            />
            <TextField label="Name" value={name} onChange={setName} hint="Of one object" isOptional />
          </div>
          <div className="access-question-foot">
            <Button type="submit" variant="primary" isBusy={isBusy} disabled={user === '' || resource === ''}>
              Ask
            </Button>
          </div>
        </form>
      </Card>
      {error !== undefined && (
        <Notice tone="bad" title="There is no answer">
          {error.message}
        </Notice>
      )}
      {answer !== undefined && <AnswerCard cluster={cluster} answer={answer} />}
    </div>
  );
}

function TextField({
  label,
  value,
  onChange,
  hint,
  isRequired = false,
  isOptional = false,
  suggestions,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: string;
  readonly isRequired?: boolean;
  readonly isOptional?: boolean;
  readonly suggestions?: readonly string[];
}): ReactElement {
  return (
    <Field label={label} hint={hint} isOptional={isOptional}>
      {(control) => (
        <>
          <input
            {...control}
            className="input input-mono"
            autoComplete="off"
            spellCheck={false}
            required={isRequired}
            value={value}
            list={suggestions === undefined ? undefined : `${control.id}-list`}
            onChange={(event) => onChange(event.target.value)}
          />
          {suggestions !== undefined && (
            <datalist id={`${control.id}-list`}>
              {suggestions.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  );
}

function AnswerCard({
  cluster,
  answer: { question, review },
}: {
  readonly cluster: string;
  readonly answer: Answer;
}): ReactElement {
  const steps = explain(review);
  const isChain = steps.some(({ outcome }) => outcome !== 'skipped');
  const { allowed, evaluationError } = review.status;
  const what = [question.resource, question.group].filter(Boolean).join('.');
  return (
    <>
      <Notice tone={allowed ? 'good' : 'bad'} title={verdict(review)}>
        <code>{question.user}</code> {allowed ? 'may' : 'may not'} {question.verb} <code>{what}</code>
        {question.namespace !== '' && ` in the namespace ${question.namespace}`} of {cluster}.
        {evaluationError !== undefined && ` The evaluation met an error: ${evaluationError}`}
      </Notice>
      {isChain && (
        <Card title="Who decided" description="The authorizers in their order. Each one denies, or asks the next.">
          <ol className="access-chain">
            {steps.map((step) => (
              <Step key={step.key} step={step} />
            ))}
          </ol>
        </Card>
      )}
      <CommandBox command={questionCommand(cluster, question)} />
    </>
  );
}

function Step({ step }: { readonly step: AccessStep }): ReactElement {
  const { title, description, outcome, reason, remedy } = step;
  return (
    <li className={`access-${outcome}`}>
      <span className="access-mark">
        <Icon name={marks[outcome]} />
      </span>
      <div>
        <strong>{title}</strong>
        <p>{description}</p>
        {reason !== '' && (
          <p className="access-reason">
            <code>{reason}</code>
          </p>
        )}
        {remedy !== undefined && <p className="access-reason">{remedy}</p>}
      </div>
      <div>
        <Badge tone={tones[outcome]}>{outcomeTexts[outcome]}</Badge>
      </div>
    </li>
  );
}
