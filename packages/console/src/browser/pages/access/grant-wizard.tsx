import { useState, type ReactElement } from 'react';
import { Button } from '../../components/button.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Facts } from '../../components/facts.tsx';
import { Field } from '../../components/field.tsx';
import { Icon } from '../../components/icon.tsx';
import { Notice } from '../../components/notice.tsx';
import { useToast } from '../../components/toast.tsx';
import { collectionPath } from '../../data/api-paths.ts';
import { ApiError } from '../../data/api-error.ts';
import type { KubeObject } from '../../data/kube-object.ts';
import { useApp } from '../../hooks/app-context.ts';
import { useObjects } from '../../hooks/use-objects.ts';
import { builtInRoles, rulesSummary, subjectText, type Role, type Subject } from '../../model/access-grants.ts';
import { bindingsFor, grantCommands, type GrantRequest } from '../../model/new-grant.ts';
import { useRoles } from './use-roles.ts';

const steps = ['Who', 'Where', 'Role', 'Review'] as const;

interface Draft {
  readonly kind: string;
  readonly name: string;
  readonly accountNamespace: string;
  /** Empty: the whole workspace. */
  readonly namespace: string;
  readonly role: string;
  readonly entersWorkspace: boolean;
}

const emptyDraft: Draft = {
  kind: 'User',
  name: '',
  accountNamespace: 'default',
  namespace: '',
  role: '',
  entersWorkspace: true,
};

/** `Role/<name>` or `ClusterRole/<name>`. */
const roleOf = (key: string): GrantRequest['role'] => {
  const slash = key.indexOf('/');
  return { kind: key.slice(0, slash) === 'Role' ? 'Role' : 'ClusterRole', name: key.slice(slash + 1) };
};

function requestOf({ kind, name, accountNamespace, namespace, role, entersWorkspace }: Draft): GrantRequest {
  const subject: Subject = kind === 'ServiceAccount' ? { kind, name, namespace: accountNamespace } : { kind, name };
  return { subject, role: roleOf(role), namespace: namespace === '' ? undefined : namespace, entersWorkspace };
}

/** Gives a role to somebody, step by step. */
export function GrantWizard({
  cluster,
  onClose,
}: {
  readonly cluster: string;
  readonly onClose: () => void;
}): ReactElement {
  const { api } = useApp();
  const toast = useToast();
  const [step, setStep] = useState(0);
  const [draft, setDraft] = useState(emptyDraft);
  const [error, setError] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const change = (part: Partial<Draft>): void => setDraft((old) => ({ ...old, ...part }));
  const isComplete = [draft.name.trim() !== '', true, draft.role !== '', true][step] ?? false;
  const request = requestOf(draft);
  const grant = async (): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    try {
      for (const [index, binding] of bindingsFor(request).entries()) {
        const { namespace } = binding.metadata;
        const resource = namespace === undefined ? 'clusterrolebindings' : 'rolebindings';
        const path = collectionPath({
          cluster,
          group: 'rbac.authorization.k8s.io',
          version: 'v1',
          resource,
          namespace,
        });
        try {
          await api.send(path, { method: 'POST', body: JSON.stringify(binding) });
        } catch (failure) {
          // The way into the workspace, of an earlier grant to the same subject.
          const isOld = index === 0 && bindingsFor(request).length > 1;
          if (!(isOld && failure instanceof ApiError && failure.reason === 'AlreadyExists')) throw failure;
        }
      }
      toast({ tone: 'good', title: `${subjectText(request.subject)} has the role ${request.role.name}` });
      onClose();
    } catch (failure) {
      setError((failure as Error).message);
      setIsBusy(false);
    }
  };
  const isLast = step === steps.length - 1;
  return (
    <Dialog
      title="Grant a role"
      size="large"
      onClose={onClose}
      onSubmit={() => (isLast ? void grant() : isComplete && setStep(step + 1))}
      actions={
        <>
          <Button variant="ghost" onClick={step === 0 ? onClose : () => setStep(step - 1)}>
            {step === 0 ? 'Cancel' : 'Back'}
          </Button>
          <Button type="submit" variant="primary" isBusy={isBusy} disabled={!isComplete}>
            {isLast ? 'Grant' : 'Continue'}
          </Button>
        </>
      }
    >
      <ol className="wizard-steps">
        {steps.map((title, index) => (
          <li
            key={title}
            aria-current={index === step ? 'step' : undefined}
            className={index < step ? 'wizard-done' : undefined}
          >
            <span className="wizard-number">{index < step ? <Icon name="check" size={12} /> : index + 1}</span>
            {title}
          </li>
        ))}
      </ol>
      {step === 0 && <WhoStep draft={draft} onChange={change} />}
      {step === 1 && <WhereStep cluster={cluster} draft={draft} onChange={change} />}
      {step === 2 && <RoleStep cluster={cluster} draft={draft} onChange={change} />}
      {step === 3 && <ReviewStep cluster={cluster} request={request} onChange={change} />}
      {error !== undefined && (
        <Notice tone="bad" title="The role is not granted">
          {error}
        </Notice>
      )}
    </Dialog>
  );
}

interface StepProps {
  readonly draft: Draft;
  readonly onChange: (part: Partial<Draft>) => void;
}

const kinds = [
  ['User', 'One person, by the name of the log-in.'],
  ['Group', 'Everybody with this group, by the log-in.'],
  ['ServiceAccount', 'A program, by a service account of this workspace.'],
] as const;

function WhoStep({ draft, onChange }: StepProps): ReactElement {
  const [, hint] = kinds.find(([kind]) => kind === draft.kind) ?? kinds[0];
  return (
    <div className="form">
      <Field label="Kind" hint={hint}>
        {(control) => (
          <select
            {...control}
            className="input"
            value={draft.kind}
            onChange={(event) => onChange({ kind: event.target.value })}
          >
            {kinds.map(([kind]) => (
              <option key={kind} value={kind}>
                {kind === 'ServiceAccount' ? 'Service account' : kind}
              </option>
            ))}
          </select>
        )}
      </Field>
      {draft.kind === 'ServiceAccount' && (
        <TextInput
          label="Namespace of the service account"
          value={draft.accountNamespace}
          onChange={(accountNamespace) => onChange({ accountNamespace })}
        />
      )}
      <TextInput label="Name" value={draft.name} onChange={(name) => onChange({ name })} isFirst />
    </div>
  );
}

function TextInput({
  label,
  value,
  onChange,
  isFirst = false,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly isFirst?: boolean;
}): ReactElement {
  return (
    <Field label={label}>
      {(control) => (
        <input
          {...control}
          className="input input-mono"
          autoComplete="off"
          spellCheck={false}
          autoFocus={isFirst}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

function WhereStep({ cluster, draft, onChange }: StepProps & { readonly cluster: string }): ReactElement {
  const { items } = useObjects<KubeObject>({ cluster, group: '', version: 'v1', resource: 'namespaces' });
  const names = items.map(({ metadata }) => metadata.name).sort();
  return (
    <div className="form">
      <Field label="Where" hint="In one namespace, or in the whole workspace with all its namespaces.">
        {(control) => (
          <select
            {...control}
            className="input"
            value={draft.namespace}
            // A role of a namespace is not one of another.
            onChange={(event) => onChange({ namespace: event.target.value, role: '' })}
          >
            <option value="">The whole workspace {cluster}</option>
            {names.map((name) => (
              <option key={name} value={name}>
                The namespace {name}
              </option>
            ))}
          </select>
        )}
      </Field>
    </div>
  );
}

function RoleStep({ cluster, draft, onChange }: StepProps & { readonly cluster: string }): ReactElement {
  const { clusterRoles, roles } = useRoles(cluster);
  const own: readonly (readonly [key: string, name: string, text: string])[] = [
    ...roles.items
      .filter(({ metadata }) => draft.namespace !== '' && metadata.namespace === draft.namespace)
      .map((role) => [`Role/${role.metadata.name}`, role.metadata.name, textOf(role)] as const),
    ...clusterRoles.items.map(
      (role) => [`ClusterRole/${role.metadata.name}`, role.metadata.name, textOf(role)] as const,
    ),
  ];
  const builtIn = [...builtInRoles]
    .filter(([name]) => !clusterRoles.items.some(({ metadata }) => metadata.name === name))
    .map(([name, text]) => [`ClusterRole/${name}`, name, text] as const);
  const selected = [...own, ...builtIn].find(([key]) => key === draft.role);
  return (
    <div className="form">
      <Field label="Role" hint={selected === undefined ? 'What may be done.' : `Allows: ${selected[2]}.`}>
        {(control) => (
          <select
            {...control}
            className="input"
            value={draft.role}
            onChange={(event) => onChange({ role: event.target.value })}
          >
            <option value="">Choose a role</option>
            {own.length > 0 && (
              <optgroup label="Of this workspace">
                {own.map(([key, name]) => (
                  <option key={key} value={key}>
                    {name}
                  </option>
                ))}
              </optgroup>
            )}
            <optgroup label="Built in">
              {builtIn.map(([key, name]) => (
                <option key={key} value={key}>
                  {name}
                </option>
              ))}
            </optgroup>
          </select>
        )}
      </Field>
    </div>
  );
}

const textOf = ({ rules }: Role): string => rulesSummary(rules ?? []);

function ReviewStep({
  cluster,
  request,
  onChange,
}: {
  readonly cluster: string;
  readonly request: GrantRequest;
  readonly onChange: (part: Partial<Draft>) => void;
}): ReactElement {
  const { subject, role, namespace, entersWorkspace } = request;
  return (
    <>
      <Facts
        of={[
          ['Who', subjectText(subject)],
          ['Role', role.name],
          ['Where', namespace === undefined ? cluster : `${cluster}, namespace ${namespace}`],
        ]}
      />
      {subject.kind !== 'ServiceAccount' && (
        <label className="checkbox">
          <input
            type="checkbox"
            checked={entersWorkspace}
            onChange={(event) => onChange({ entersWorkspace: event.target.checked })}
          />
          <span>Also let them into the workspace; without that, the role has no effect</span>
        </label>
      )}
      <CommandBox command={grantCommands(cluster, request)} />
    </>
  );
}
