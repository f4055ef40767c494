import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SecurityProfile_ProfileType as ProfileType } from '../../cri/generated/runtime-v1.ts';
import { appArmorProfile } from './apparmor.ts';
import { APPARMOR_DISABLED, type AppArmorState } from './apparmor-default.ts';
import { containerConfig } from './testing/valid-request.ts';

const REASON = 'cannot load AppArmor profile nodelet-default: no parser';
const FIELD = 'linux.security_context.apparmor';

const states = {
  loaded: {
    loaded: new Set(['nodelet-default', 'mine']),
    byDefault: { kind: 'applied', profile: 'nodelet-default' },
  },
  other: {
    loaded: new Set(['docker-default', 'mine']),
    byDefault: { kind: 'applied', profile: 'docker-default', reason: REASON },
  },
  missing: { loaded: new Set(['mine']), byDefault: { kind: 'missing', reason: REASON } },
  disabled: APPARMOR_DISABLED,
} satisfies Record<string, AppArmorState>;

type Context = NonNullable<NonNullable<Parameters<typeof containerConfig>[0]>['linux']>['securityContext'];

const requests = {
  unset: {},
  explicit: { apparmor: { profileType: ProfileType.RuntimeDefault } },
  older: { apparmorProfile: 'runtime/default' },
  unconfined: { apparmor: { profileType: ProfileType.Unconfined } },
  mine: { apparmor: { profileType: ProfileType.Localhost, localhostRef: 'mine' } },
  absent: { apparmorProfile: 'localhost/absent' },
  privileged: { privileged: true },
  privilegedExplicit: { privileged: true, apparmor: { profileType: ProfileType.RuntimeDefault } },
  privilegedMine: { privileged: true, apparmorProfile: 'localhost/mine' },
} satisfies Record<string, Context>;

const NOT_FOUND = `${FIELD}.localhost_ref: apparmor profile not found absent`;
const NOT_SUPPORTED = `${FIELD}: apparmor is not supported`;
const NOT_LOADED = `${FIELD}: ${REASON}`;

/** The profile, `none`, or the message of the error. */
type Outcomes = Record<keyof typeof requests, string>;

const confinedBy = (profile: string): Outcomes => ({
  unset: profile,
  explicit: profile,
  older: profile,
  unconfined: 'none',
  mine: 'mine',
  absent: NOT_FOUND,
  privileged: 'none',
  privilegedExplicit: 'none',
  privilegedMine: 'mine',
});

const expected: Record<keyof typeof states, Outcomes> = {
  loaded: confinedBy('nodelet-default'),
  other: confinedBy('docker-default'),
  missing: {
    unset: 'none',
    explicit: NOT_LOADED,
    older: NOT_LOADED,
    unconfined: 'none',
    mine: 'mine',
    absent: NOT_FOUND,
    privileged: 'none',
    privilegedExplicit: 'none',
    privilegedMine: 'mine',
  },
  disabled: {
    unset: 'none',
    explicit: NOT_SUPPORTED,
    older: NOT_SUPPORTED,
    unconfined: 'none',
    mine: NOT_SUPPORTED,
    absent: NOT_SUPPORTED,
    privileged: 'none',
    privilegedExplicit: NOT_SUPPORTED,
    privilegedMine: NOT_SUPPORTED,
  },
};

for (const [name, state] of Object.entries(states) as [keyof typeof states, AppArmorState][]) {
  test(`appArmorProfile() with the default profile ${name}`, () => {
    const results = Object.entries(requests).map(([request, securityContext]) => [
      request,
      profileOrError(securityContext, state),
    ]);
    assert.deepEqual(Object.fromEntries(results), expected[name]);
  });
}

function profileOrError(securityContext: Context, state: AppArmorState): string {
  try {
    return appArmorProfile(containerConfig({ linux: { securityContext } }).linux?.securityContext, state) ?? 'none';
  } catch (error) {
    assert.ok(error instanceof Error);
    return error.message;
  }
}
