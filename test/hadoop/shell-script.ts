import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Shell } from './support.ts';

/** One session of `hdfs dfs` in a directory, whose output must be the same wherever the directory lies. */

/** Stands for the directory in commands and outputs. */
const DIR = 'DIR';
/** A local file of the given name, see `writeLocalFiles`. */
const LOCAL = 'LOCAL/';

/** `as` names the user; left out, the one that runs the rig. */
interface Step {
  readonly args: readonly string[];
  readonly as?: string;
}

function step(line: string, as?: string): Step {
  const args = line.split(' ');
  return as === undefined ? { args } : { args, as };
}

export const SCRIPT: readonly Step[] = [
  step('-mkdir -p DIR/a/b DIR/c/d/e DIR/z'),
  step('-mkdir DIR/a'),
  step('-mkdir DIR/none/below'),
  step('-put LOCAL/hello LOCAL/thousand DIR/a'),
  step('-put LOCAL/thousand DIR/a/b/thousand'),
  step('-put LOCAL/hello DIR/a/hello'),
  step('-put -f LOCAL/hello DIR/a/hello'),
  step('-touchz DIR/empty DIR/c/empty'),
  step('-touch -t 20200102:030405 DIR/touched'),
  step('-mkdir DIR/a/hello'),
  step('-mkdir -p DIR/a/hello/below'),
  step('-ls DIR'),
  step('-ls -d DIR'),
  step('-ls -R DIR'),
  step('-ls -r -C DIR'),
  step('-ls DIR/none'),
  step('-count DIR'),
  step('-count -q DIR DIR/a'),
  step('-count -u DIR'),
  step('-count -e DIR/a/hello'),
  step('-count -q -h -v -t DISK DIR'),
  step('-count DIR/none'),
  step('-du DIR'),
  step('-du -s -v DIR/a'),
  step('-du DIR/none'),
  step('-find DIR -name h*'),
  step('-stat %F:%a:%u:%g:%n:%b:%r:%o DIR DIR/a DIR/a/hello'),
  step('-stat %y DIR/touched'),
  step('-test -d DIR/a'),
  step('-test -d DIR/a/hello'),
  step('-test -e DIR/none'),
  step('-checksum DIR/a/hello'),
  step('-head DIR/a/hello'),
  step('-setfacl -m user:alice:rwx,default:group:staff:r-x DIR/c'),
  step('-mkdir DIR/c/inherits'),
  step('-getfacl -R DIR/c'),
  step('-ls DIR'),
  step('-setfacl -x user:alice DIR/c'),
  step('-setfacl -k DIR/c'),
  step('-setfacl -b DIR/c'),
  step('-getfacl DIR/c DIR/none'),
  step('-setfattr -n user.color -v red DIR/a'),
  step('-setfattr -n user.color -v blue DIR/a/hello'),
  step('-getfattr -R -d DIR'),
  step('-getfattr -n user.none DIR/a'),
  step('-setfattr -x user.color DIR/a'),
  step('-getfattr -d DIR/a'),
  step('-chmod 700 DIR/z'),
  step('-chown alice:staff DIR/z'),
  step('-ls DIR/z', 'bob'),
  step('-touchz DIR/z/mine', 'alice'),
  step('-rm -skipTrash DIR/z/mine', 'bob'),
  step('-chmod -R u=rwX,go=rX DIR/z', 'alice'),
  step('-ls -R DIR/z', 'bob'),
  step('-setrep 1 DIR/a/hello'),
  step('-stat %r DIR/a/hello'),
  step('-appendToFile LOCAL/hello DIR/a/hello'),
  step('-cat DIR/a/hello DIR/none'),
  step('-truncate -w 5 DIR/a/hello'),
  step('-tail DIR/a/hello'),
  step('-cp DIR/a/thousand DIR/copied'),
  step('-cp DIR/a DIR/tree'),
  step('-mv DIR/copied DIR/c/moved'),
  step('-mv DIR/c/moved DIR/z'),
  step('-mv DIR/none DIR/x'),
  step('-mv DIR/a DIR/tree'),
  step('-mv DIR/tree DIR/tree/a/b'),
  step('-mv DIR/tree DIR/renamed'),
  step('-ls -R DIR'),
  step('-count -q DIR'),
  step('-rmdir DIR/renamed'),
  step('-rm -skipTrash DIR/renamed'),
  step('-rm -skipTrash DIR/none'),
  step('-rm -r -skipTrash DIR/renamed/a'),
  step('-rmdir DIR/c/d/e'),
  step('-ls -R DIR'),
  step('-count DIR'),
  step('-rm -r -skipTrash DIR'),
  step('-ls -d DIR'),
];

export interface Printed {
  readonly command: string;
  readonly code: number;
  readonly out: readonly string[];
  readonly err: readonly string[];
}

export function writeLocalFiles(local: string): void {
  writeFileSync(join(local, 'hello'), 'hello, world\n');
  writeFileSync(join(local, 'thousand'), 'x'.repeat(1000));
}

/** What must not matter: where the directory is, who serves it, when things were made. */
function lines(text: string, dir: string): string[] {
  return (
    text
      .replaceAll(/hdfs:\/\/127\.0\.0\.1:\d+/g, '')
      .replaceAll(dir, DIR)
      // On a mount with several destinations a failure names the nameservice that it comes from.
      .replaceAll(/ \(nameservice ns\d\)$/gm, '')
      .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d(?!:)/g, 'DATE')
      .split('\n')
  );
}

/** Runs the script in `dir`, which must not exist; what each command printed, without what must not matter. */
export async function runScript(shell: Shell, dir: string, local: string): Promise<Printed[]> {
  const printed: Printed[] = [];
  for (const { args, as } of SCRIPT) {
    const given = args.map((arg) =>
      arg.startsWith(LOCAL) ? join(local, arg.slice(LOCAL.length)) : arg.replace(DIR, dir),
    );
    const { code, out, err } = await shell.run(given, as === undefined ? {} : { user: as });
    printed.push({ command: args.join(' '), code, out: lines(out, dir), err: lines(err, dir) });
  }
  return printed;
}
