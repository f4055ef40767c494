/** kubelet's first project. */
export const FIRST_PROJECT = 1_048_577;

/** `/etc/projects` and `/etc/projid`: the directories of projects, and their names. */
export interface ProjectFiles {
  readonly projects: string;
  readonly projid: string;
}

/** The projects that the files name. */
export function namedProjects({ projects, projid }: ProjectFiles): ReadonlySet<number> {
  const ids = [...linesOf(projects).map(directoryLine), ...linesOf(projid).map(nameLine)];
  return new Set(ids.flatMap((each) => each?.id ?? []));
}

/** The project of a directory; `undefined`: the file names none. */
export function projectIn({ projects }: ProjectFiles, directory: string): number | undefined {
  return linesOf(projects)
    .map(directoryLine)
    .find((each) => each?.text === directory)?.id;
}

/** Adds the lines that kubelet would add. */
export function withProject({ projects, projid }: ProjectFiles, directory: string, id: number): ProjectFiles {
  return {
    projects: textOf([...linesOf(projects), `${id}:${directory}`]),
    projid: textOf([...linesOf(projid), `volume${id}:${id}`]),
  };
}

/** Removes a directory, and the name of its project when that has no other. */
export function withoutProject(files: ProjectFiles, directory: string): ProjectFiles {
  const id = projectIn(files, directory);
  if (id === undefined) return files;
  const left = linesOf(files.projects).filter((line) => directoryLine(line)?.text !== directory);
  const isUsed = left.some((line) => directoryLine(line)?.id === id);
  const names = linesOf(files.projid);
  return {
    projects: textOf(left),
    projid: isUsed ? files.projid : textOf(names.filter((line) => nameLine(line)?.id !== id)),
  };
}

interface ProjectLine {
  readonly id: number;
  readonly text: string;
}

function directoryLine(line: string): ProjectLine | undefined {
  const [, id, text] = /^(\d+):(.*)$/.exec(line) ?? [];
  return id === undefined || text === undefined ? undefined : { id: Number(id), text };
}

function nameLine(line: string): ProjectLine | undefined {
  const [, text, id] = /^([^#][^:]*):(\d+)$/.exec(line) ?? [];
  return id === undefined || text === undefined ? undefined : { id: Number(id), text };
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line, index, all) => line !== '' || index < all.length - 1);
}

function textOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}
