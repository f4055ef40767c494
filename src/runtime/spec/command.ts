import { invalidField } from '../../cri/field-error.ts';
import type { SpecRequest } from './spec-request.ts';

/** A command of the container replaces the image's entrypoint and cmd; arguments alone replace its cmd. */
export function containerCommand({ container, image, imageName }: SpecRequest): string[] {
  const { command, args } = container;
  if (command.length > 0) return [...command, ...args];
  // Some tools write an entrypoint of one empty string for none.
  const entrypoint = image.entrypoint.length === 1 && image.entrypoint[0] === '' ? [] : image.entrypoint;
  const words = [...entrypoint, ...(args.length > 0 ? args : image.cmd)];
  if (words.length > 0) return words;
  throw invalidField('command', `no command specified, and image ${imageName} has none`);
}

export function workingDirectory({ container, image }: SpecRequest): string {
  return container.workingDir || image.workingDir || '/';
}
