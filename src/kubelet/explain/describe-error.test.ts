import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConfigTrouble, configTrouble } from './describe-error.ts';

const subject = '(pod: "hello_default(u1)", container: web)';

const cases: Record<string, ConfigTrouble | undefined> = {
  'configmap "settings" not found': { text: 'needs ConfigMap "settings", which does not exist' },
  'secret "login" not found': { text: 'needs Secret "login", which does not exist' },
  "couldn't find key user in Secret shop/login": {
    text: 'needs key "user" of Secret shop/login, which does not have it',
  },
  'failed to sync configmap cache: timed out waiting for the condition': {
    text: 'needs a ConfigMap, and the API server has not answered yet',
  },
  'services have not yet been read at least once, cannot construct envvars': {
    text: 'is to be told of services, and the API server has not answered yet',
  },
  "couldn't parse env file": {
    text: "takes variables from a file that is missing, or has other lines than NAME='value'",
  },
  [`container has runAsNonRoot and image will run as root ${subject}`]: {
    text: 'must not run as root (runAsNonRoot), and its image does',
    help: 'Set its runAsUser to another user than 0, or take an image that names one.',
  },
  [`container's runAsUser breaks non-root policy ${subject}`]: {
    text: 'must not run as root (runAsNonRoot), and its runAsUser is 0',
  },
  [`container has runAsNonRoot and image has non-numeric user (www), cannot verify user is non-root ${subject}`]: {
    text: 'must not run as root (runAsNonRoot), and the user "www" of its image may be root',
    help: 'Set its runAsUser to their number.',
  },
  'failed to create subPath directory for volumeMount "data" of container "web"': {
    text: 'cannot have its subPath of volume "data"',
    help: 'Its path has a file or a link out of the volume in it, or cannot be written.',
  },
  'failed to create containerd container: cannot load seccomp profile "/s/x.json": open /s/x.json: no such file or directory':
    { text: 'needs the seccomp profile "/s/x.json", which does not exist' },
  'cannot load seccomp profile "/s/x.json": invalid character': undefined,
};

for (const [message, trouble] of Object.entries(cases)) {
  test(`configTrouble() puts into plain words: ${message}`, () => {
    assert.deepEqual(configTrouble(message), trouble);
  });
}
