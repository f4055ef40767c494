import { type ParsedId, parseId } from '../../base/numeric-id.ts';
import { invalidField } from '../../cri/field-error.ts';
import { type LinuxContainerSecurityContext, SupplementalGroupsPolicy } from '../../cri/generated/runtime-v1.ts';
import type { OciProcess } from '../oci/oci-spec.ts';
import type { Account, Group } from './account-files.ts';
import { checkId, outOfRangeError } from './check-id.ts';
import type { SpecRequest } from './spec-request.ts';

const FIELD = 'linux.security_context';

/** The contents of the image's account files; empty if it has none. */
export interface Accounts {
  readonly users: readonly Account[];
  readonly groups: readonly Group[];
}

/** A user and a group, by number or by name. The fields are for messages. */
interface UserChoice {
  readonly user: Reference;
  readonly group: Reference | undefined;
}

/** A number never refers to a name. */
type Reference = { readonly field: string } & Exclude<ParsedId, { readonly kind: 'outOfRange' }>;

/** Whether the user depends on the image's account files. */
export function needsAccounts(request: SpecRequest): boolean {
  const context = request.container.linux?.securityContext;
  const { user, group } = chooseUser(context, request);
  const strict = context?.supplementalGroupsPolicy === SupplementalGroupsPolicy.Strict;
  const knowsIds = user.kind === 'id' && group?.kind === 'id';
  return !(strict && knowsIds);
}

export function containerUser(request: SpecRequest, accounts: Accounts): OciProcess['user'] {
  const context = request.container.linux?.securityContext;
  const { user, group } = chooseUser(context, request);
  const account = findAccount(user, accounts);
  const gid = group === undefined ? account.gid : groupId(group, accounts);
  const others = [
    ...memberships(context?.supplementalGroupsPolicy, account.name, accounts),
    ...supplementalGroups(context),
  ];
  const additionalGids = [...new Set([gid, ...others])].sort((a, b) => a - b);
  return { uid: account.uid, gid, additionalGids };
}

function chooseUser(context: LinuxContainerSecurityContext | undefined, { image }: SpecRequest): UserChoice {
  const group = context?.runAsGroup && idReference(`${FIELD}.run_as_group`, context.runAsGroup.value);
  if (context?.runAsUsername) return { user: parseReference(`${FIELD}.run_as_username`, context.runAsUsername), group };
  if (context?.runAsUser) return { user: idReference(`${FIELD}.run_as_user`, context.runAsUser.value), group };
  if (context?.runAsGroup) {
    const why = `user group "${context.runAsGroup.value}" is specified without user`;
    throw invalidField(`${FIELD}.run_as_group`, why);
  }
  const [user = '', ofImage, ...rest] = image.user.split(':');
  if (rest.length > 0) throw invalidField('image', `invalid USER value ${JSON.stringify(image.user)}`);
  return {
    user: parseReference('image: USER', user || '0'),
    group: ofImage ? parseReference('image: USER', ofImage) : undefined,
  };
}

function idReference(field: string, value: bigint): Reference {
  return { kind: 'id', id: checkId(field, value), field };
}

function parseReference(field: string, text: string): Reference {
  const parsed = parseId(text);
  if (parsed.kind === 'outOfRange') throw outOfRangeError(field, text);
  return { ...parsed, field };
}

/** A uid that the image does not have is valid; its group is 0. */
function findAccount(user: Reference, { users }: Accounts): { name?: string; uid: number; gid: number } {
  if (user.kind === 'id') return users.find(({ uid }) => uid === user.id) ?? { uid: user.id, gid: 0 };
  const account = users.find(({ name }) => name === user.name);
  if (account === undefined) throw invalidField(user.field, `the image has no user ${JSON.stringify(user.name)}`);
  return account;
}

function groupId(reference: Reference, { groups }: Accounts): number {
  if (reference.kind === 'id') return reference.id;
  const group = groups.find(({ name }) => name === reference.name);
  if (group === undefined)
    throw invalidField(reference.field, `the image has no group ${JSON.stringify(reference.name)}`);
  return group.gid;
}

function memberships(
  policy: SupplementalGroupsPolicy | undefined,
  name: string | undefined,
  { groups }: Accounts,
): number[] {
  switch (policy) {
    case SupplementalGroupsPolicy.Strict:
      return [];
    case SupplementalGroupsPolicy.Merge:
    case undefined:
      if (name === undefined) return [];
      return groups.filter((group) => group.name !== name && group.members.includes(name)).map(({ gid }) => gid);
    default:
      throw invalidField(`${FIELD}.supplemental_groups_policy`, `unknown policy ${policy}`);
  }
}

function supplementalGroups(context: LinuxContainerSecurityContext | undefined): number[] {
  const groups = context?.supplementalGroups ?? [];
  return groups.map((group, index) => checkId(`${FIELD}.supplemental_groups[${index}]`, group));
}
