import { badField } from '../../cri/bad-field.ts';
import { type LinuxContainerSecurityContext, SupplementalGroupsPolicy } from '../../cri/generated/runtime-v1.ts';
import type { OciProcess } from '../oci/oci-spec.ts';
import { type Account, type Group, idOf } from './account-files.ts';
import type { SpecRequest } from './spec-request.ts';

const FIELD = 'linux.security_context';

/** What the image has in its account files; empty where it has none. */
export interface Accounts {
  readonly users: readonly Account[];
  readonly groups: readonly Group[];
}

interface Chosen {
  readonly user: string;
  readonly group: string | undefined;
  /** Who chose, for messages. */
  readonly field: string;
}

/** Whether who it is depends on the image's account files. */
export function needsAccounts(request: SpecRequest): boolean {
  const context = request.container.linux?.securityContext;
  const { user, group } = chosen(context, request);
  const strict = context?.supplementalGroupsPolicy === SupplementalGroupsPolicy.Strict;
  const knowsIds = idOf(user) !== undefined && group !== undefined && idOf(group) !== undefined;
  return !(strict && knowsIds);
}

export function containerUser(request: SpecRequest, accounts: Accounts): OciProcess['user'] {
  const context = request.container.linux?.securityContext;
  const who = chosen(context, request);
  const account = accountOf(who, accounts);
  const gid = who.group === undefined ? account.gid : groupId(who, who.group, accounts);
  const others = [...memberships(context?.supplementalGroupsPolicy, account.name, accounts), ...supplemental(context)];
  const additionalGids = [...new Set([gid, ...others])].sort((a, b) => a - b);
  return { uid: account.uid, gid, additionalGids };
}

function chosen(context: LinuxContainerSecurityContext | undefined, { image }: SpecRequest): Chosen {
  const group = context?.runAsGroup && String(context.runAsGroup.value);
  if (context?.runAsUsername) return { user: context.runAsUsername, group, field: `${FIELD}.run_as_username` };
  if (context?.runAsUser) return { user: String(context.runAsUser.value), group, field: `${FIELD}.run_as_user` };
  if (group !== undefined) {
    throw badField(`${FIELD}.run_as_group`, `user group "${group}" is specified without user`);
  }
  const [user = '', ofImage, ...rest] = image.user.split(':');
  if (rest.length > 0) throw badField('image', `invalid USER value ${JSON.stringify(image.user)}`);
  return { user: user || '0', group: ofImage || undefined, field: 'image: USER' };
}

/** A uid that the image does not know is fine; its group is 0 then. */
function accountOf({ user, field }: Chosen, { users }: Accounts): { name?: string; uid: number; gid: number } {
  const uid = idOf(user);
  if (uid !== undefined) return users.find((account) => account.uid === uid) ?? { uid, gid: 0 };
  const account = users.find(({ name }) => name === user);
  if (account === undefined) throw badField(field, `the image has no user ${JSON.stringify(user)}`);
  return account;
}

function groupId({ field }: Chosen, wanted: string, { groups }: Accounts): number {
  const gid = idOf(wanted) ?? groups.find(({ name }) => name === wanted)?.gid;
  const where = field === 'image: USER' ? field : `${FIELD}.run_as_group`;
  if (gid === undefined) throw badField(where, `the image has no group ${JSON.stringify(wanted)}`);
  return gid;
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
      throw badField(`${FIELD}.supplemental_groups_policy`, `unknown policy ${policy}`);
  }
}

function supplemental(context: LinuxContainerSecurityContext | undefined): number[] {
  return (context?.supplementalGroups ?? []).map((group, index) => {
    const gid = idOf(String(group));
    if (gid === undefined) throw badField(`${FIELD}.supplemental_groups[${index}]`, `${group} is no group id`);
    return gid;
  });
}
