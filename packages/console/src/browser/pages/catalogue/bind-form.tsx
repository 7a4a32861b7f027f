import { useMemo, useState, type ReactElement } from 'react';
import { Badge } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { CommandBox } from '../../components/command-box.tsx';
import { Notice } from '../../components/notice.tsx';
import { useToast } from '../../components/toast.tsx';
import { collectionPath, objectPath } from '../../data/api-paths.ts';
import { useApp } from '../../hooks/app-context.ts';
import { bindingsAt } from '../../hooks/use-bindings.ts';
import { useDiscovery } from '../../hooks/use-discovery.ts';
import type { AcceptableClaim, ApiBinding, ApiExport, PermissionClaim } from '../../model/api-export.ts';
import { claimKey, claimName, claimWords } from '../../model/claim-words.ts';

type Decision = AcceptableClaim['state'];

interface BindingTarget {
  readonly cluster: string;
  readonly provider: string;
  readonly name: string;
  readonly of: ApiExport | undefined;
  readonly binding: ApiBinding | undefined;
}

/** What the provider asks for, to be accepted or rejected one by one; binds, or changes a binding. */
export function BindForm({ cluster, provider, name, of, binding }: BindingTarget): ReactElement {
  const { claims, decisionOf, decide, open, isChanged, error, isBusy, submit } = useBinding({
    cluster,
    provider,
    name,
    of,
    binding,
  });
  const flags = claims
    .filter((claim) => decisionOf(claim) !== undefined)
    .map(
      (claim) =>
        ` \\\n  --${decisionOf(claim) === 'Accepted' ? 'accept' : 'reject'}-permission-claim ${claimName(claim)}`,
    );
  return (
    <Card
      title={binding === undefined ? 'Bind this API' : 'What the provider may do here'}
      description={
        claims.length === 0
          ? 'The provider asks for nothing else in this workspace. It sees the objects of its own API.'
          : 'The provider always sees the objects of its own API. Beyond that it asks for this; decide for each.'
      }
    >
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {claims.map((claim) => (
          <ClaimChoice
            key={claimKey(claim)}
            cluster={cluster}
            claim={claim}
            decision={decisionOf(claim)}
            onDecide={(decision) => decide(claim, decision)}
          />
        ))}
        {error !== undefined && (
          <Notice tone="bad" title={binding === undefined ? 'The API is not bound' : 'Your decisions are not saved'}>
            {error}
          </Notice>
        )}
        {(binding === undefined || isChanged) && (
          <div className="row">
            <Button type="submit" variant="primary" isBusy={isBusy} disabled={open > 0}>
              {binding === undefined ? 'Bind' : 'Save'}
            </Button>
            {open > 0 && (
              <span className="muted">{open === 1 ? 'One decision is left' : `${open} decisions are left`}</span>
            )}
          </div>
        )}
        {binding === undefined && (
          <CommandBox
            command={`kubectl ws :${cluster}\nkubectl kcp bind apiexport ${provider}:${name}${flags.join('')}`}
          />
        )}
      </form>
    </Card>
  );
}

function ClaimChoice({
  cluster,
  claim,
  decision,
  onDecide,
}: {
  readonly cluster: string;
  readonly claim: PermissionClaim;
  readonly decision: Decision | undefined;
  readonly onDecide: (decision: Decision) => void;
}): ReactElement {
  const { data } = useDiscovery(cluster);
  const kind = data?.find(({ group, resource }) => group === (claim.group ?? '') && resource === claim.resource)?.kind;
  const { title, text, isSensitive } = claimWords(claim, kind);
  return (
    <fieldset className="claim">
      <legend>{title}</legend>
      {isSensitive && <Badge tone="warn">Sensitive</Badge>}
      <p>{text}</p>
      <div className="claim-choice">
        {(['Accepted', 'Rejected'] as const).map((state) => (
          <label key={state} className={decision === state ? `claim-option claim-option-${state}` : 'claim-option'}>
            <input type="radio" name={claimKey(claim)} checked={decision === state} onChange={() => onDecide(state)} />
            {state === 'Accepted' ? 'Accept' : 'Reject'}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

interface BindingState {
  readonly claims: readonly PermissionClaim[];
  /** How many decisions are left. */
  readonly open: number;
  readonly isChanged: boolean;
  readonly error: string | undefined;
  readonly isBusy: boolean;
  readonly decisionOf: (claim: PermissionClaim) => Decision | undefined;
  readonly decide: (claim: PermissionClaim, decision: Decision) => void;
  readonly submit: () => Promise<void>;
}

function useBinding({ cluster, provider, name, of, binding }: BindingTarget): BindingState {
  const { api } = useApp();
  const toast = useToast();
  const claims = of?.spec?.permissionClaims ?? binding?.status?.exportPermissionClaims ?? [];
  const decided = useMemo(
    () => new Map(binding?.spec?.permissionClaims?.map((claim) => [claimKey(claim), claim.state])),
    [binding],
  );
  const [changed, setChanged] = useState<ReadonlyMap<string, Decision>>(new Map());
  const [error, setError] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const decisionOf = (claim: PermissionClaim): Decision | undefined =>
    changed.get(claimKey(claim)) ?? decided.get(claimKey(claim));
  const open = claims.filter((claim) => decisionOf(claim) === undefined).length;
  const isChanged = [...changed].some(([key, decision]) => decided.get(key) !== decision);

  const submit = async (): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    const permissionClaims = claims.flatMap((claim) => {
      const state = decisionOf(claim);
      const before = binding?.spec?.permissionClaims?.find((own) => claimKey(own) === claimKey(claim));
      return state === undefined
        ? []
        : [{ ...claim, selector: before?.selector ?? claim.defaultSelector ?? { matchAll: true }, state }];
    });
    try {
      if (binding === undefined) await bind(permissionClaims);
      else
        await api.send(objectPath(bindingsAt(cluster), binding.metadata.name), {
          method: 'PATCH',
          contentType: 'application/merge-patch+json',
          body: JSON.stringify({
            metadata: { resourceVersion: binding.metadata.resourceVersion },
            spec: { permissionClaims },
          }),
        });
      setChanged(new Map());
      toast({ tone: 'good', title: binding === undefined ? `${name} is being bound` : 'Your decisions are saved' });
    } catch (failure) {
      setError((failure as Error).message);
    }
    setIsBusy(false);
  };
  const bind = (permissionClaims: readonly AcceptableClaim[]): Promise<Response> =>
    api.send(collectionPath(bindingsAt(cluster)), {
      method: 'POST',
      body: JSON.stringify({
        apiVersion: 'apis.kcp.io/v1alpha2',
        kind: 'APIBinding',
        metadata: { name },
        spec: { reference: { export: { path: provider, name } }, permissionClaims },
      }),
    });
  return {
    claims,
    open,
    isChanged,
    error,
    isBusy,
    decisionOf,
    decide: (claim, decision) => setChanged((all) => new Map([...all, [claimKey(claim), decision]])),
    submit,
  };
}
