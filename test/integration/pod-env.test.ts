/** Variables from ConfigMaps, Secrets and files, through `nodelet run` and read inside real containers. */
import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { TestNodelet } from './nodelet-fixture.ts';
import { runtimeSkipReason } from './runtime-fixture.ts';

const IMAGE = 'localhost/nodelet/busybox:1';

const OBJECTS = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: red, SIZE: "large one"}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {user: grün}
`;

const POD = `apiVersion: v1
kind: Pod
metadata: {name: env}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  volumes: [{name: vars, emptyDir: {}}]
  initContainers:
  - name: writer
    image: "${IMAGE}"
    command: [sh, -c, "printf \\"TOKEN='two\\\\nlines'\\\\n\\" > /vars/app.env"]
    volumeMounts: [{name: vars, mountPath: /vars}]
  containers:
  - name: main
    image: "${IMAGE}"
    command: [sh, -c, 'echo "[$P_color] [$SIZE] [$USER_NAME] [$BOTH] [$(echo "$TOKEN" | tr "\\n" /)] [$NONE]"']
    envFrom: [{prefix: P_, configMapRef: {name: settings}}]
    env:
    - {name: SIZE, valueFrom: {configMapKeyRef: {name: settings, key: SIZE}}}
    - {name: USER_NAME, valueFrom: {secretKeyRef: {name: login, key: user}}}
    - {name: BOTH, value: "$(USER_NAME)/$(P_color)"}
    - {name: TOKEN, valueFrom: {fileKeyRef: {volumeName: vars, path: app.env, key: TOKEN}}}
    - {name: NONE, valueFrom: {secretKeyRef: {name: absent, key: x, optional: true}}}
`;

const WAITING = `apiVersion: v1
kind: Pod
metadata: {name: waits}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: "${IMAGE}"
    command: [sh, -c, "trap 'exit 0' TERM; echo color $color; sleep 1000 & wait"]
    envFrom: [{configMapRef: {name: settings}}]
`;

suite('variables of containers', { skip: runtimeSkipReason(), timeout: 900_000 }, () => {
  const nodelet = new TestNodelet();
  after(() => nodelet.cleanUp());

  test('variables come from objects beside the pod and from files that it writes itself', async () => {
    const run = nodelet.run('--once', nodelet.write('env.yaml', `${POD}---\n${OBJECTS}`));
    assert.equal(await run.exited, 0, run.output());
    assert.match(run.output(), /\[red\] \[large one\] \[grün\] \[grün\/red\] \[two\/lines\/\] \[\]/);
    assert.deepEqual(nodelet.remainingResources(), []);
  });

  test('a container waits for a ConfigMap, and starts when its document is written', async () => {
    const path = nodelet.write('waits.yaml', WAITING);
    const run = nodelet.run(path);
    await run.line(/needs ConfigMap "settings", which does not exist/);
    const why = await nodelet.command('why', 'waits');
    assert.match(why.stdout, /needs ConfigMap "settings", which does not exist/);
    nodelet.write('waits.yaml', `${WAITING}---\n${OBJECTS}`);
    await run.line(/color red/);
    run.process.kill('SIGINT');
    assert.equal(await run.exited, 0, run.output());
    assert.deepEqual(nodelet.remainingResources(), []);
  });
});
