import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namedProjects, type ProjectFiles, projectIn, withoutProject, withProject } from './project-files.ts';

/** Of an administrator, with what the files may contain besides. */
const ADMIN: ProjectFiles = { projects: '# projects\n7:/srv/data\n', projid: '# names\ndata:7\n\n' };
const VOLUME = '/var/lib/kubelet/pods/u1/volumes/kubernetes.io~empty-dir/data';

test('withProject() adds the lines that kubelet writes, and withoutProject() removes them', () => {
  const added = withProject(ADMIN, VOLUME, 1_048_577);
  assert.deepEqual(added, {
    projects: `# projects\n7:/srv/data\n1048577:${VOLUME}\n`,
    projid: '# names\ndata:7\n\nvolume1048577:1048577\n',
  });
  assert.equal(projectIn(added, VOLUME), 1_048_577);
  assert.deepEqual(namedProjects(added), new Set([7, 1_048_577]));
  assert.deepEqual(withoutProject(added, VOLUME), ADMIN);
});

test('withoutProject() keeps the name of a project that has another directory', () => {
  const two = withProject({ projects: `1048577:/other\n`, projid: '' }, VOLUME, 1_048_577);
  assert.deepEqual(withoutProject(two, VOLUME), { projects: '1048577:/other\n', projid: 'volume1048577:1048577\n' });
});

test('withoutProject() leaves files alone that do not name the directory', () => {
  assert.equal(withoutProject(ADMIN, VOLUME), ADMIN);
});
