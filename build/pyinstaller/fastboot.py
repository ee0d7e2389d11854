"""The first Python of the frozen program: it runs before PyInstaller's importer is set up.

A frozen program spends most of a short run on that set-up, and a hook is a short run. So the modules that a
hook may load are in a pack of their own (`hooks.pack`, written by pack.py), and a hook is run from here, by
the same `ways.entry` as ever. What the pack lacks comes through PyInstaller's importer, set up only then.
Every other command goes on to the ordinary start, with the pack in use.
Why: docs/decisions/freezing.md.

At this point only the interpreter's built-in and frozen modules can be imported: `os`, `sys`, `marshal`, …
"""

import sys

PACK = "hooks.pack"
MODULES = "modules.pyz"
MAGIC = b"WAYSPACK"
HEADER = 12  # bytes: the magic, then the length of the head (4 bytes, little-endian)
SEPARATOR = "\\" if sys.platform == "win32" else "/"


def inside(name):
    """The path of a file of the bundle, given with `/`."""
    return sys._MEIPASS + SEPARATOR + name.replace("/", SEPARATOR)


class Pack:
    """Finder and loader of the modules in a pack (its layout: pack.py)."""

    def __init__(self, path):
        import io
        import marshal

        self.file = io.FileIO(path)
        head = self.file.read(HEADER)
        if head[:8] != MAGIC:
            raise ImportError(path + " is not a pack of modules")
        size = int.from_bytes(head[8:], "little")
        self.loads = marshal.loads
        self.start = HEADER + size
        version, self.units, self.extensions, self.where, self.names = self.loads(self.file.read(size))
        if version != sys.hexversion:
            raise ImportError(path + " is of another Python")
        self.known = None

    def part(self, offset, size):
        """What was marshalled at this place."""
        self.file.seek(self.start + offset)
        return self.loads(self.file.read(size))

    @property
    def index(self):
        """The modules by name: (is a package, offset, size) of the code."""
        if self.known is None:
            self.known = self.part(*self.where)
        return self.known

    def everything(self):
        """The names of all modules of the bundle, in the pack or not."""
        return self.part(*self.names)

    def run_unit(self, lane):
        """Load what a quiet hook of this lane needs, without the import system's work for each module."""
        modules = sys.modules
        kind, kind_of_spec = type(sys), type(sys.__spec__)
        top = inside("")
        for place in self.units.get(lane, ()):
            for name, parent, own, file, package, code in self.part(*place):
                module = kind(name)
                names = module.__dict__
                names["__loader__"] = self
                names["__file__"] = top + file.replace("/", SEPARATOR)
                if package:
                    names["__spec__"] = spec = self.spec(name, True)
                    names["__path__"] = spec.submodule_search_locations
                    names["__package__"] = name
                else:
                    names["__spec__"] = kind_of_spec(name, self)
                    names["__package__"] = parent
                modules[name] = module
                exec(code, names)
                if parent:
                    setattr(modules[parent], own, module)

    def spec(self, name, package):
        """The spec of a module in the pack."""
        spec = type(sys.__spec__)(name, self, is_package=package)
        if package:
            spec.submodule_search_locations.append(inside(name.replace(".", "/")))
        return spec

    def find_spec(self, name, path=None, target=None):
        """As importlib's finders: the spec of a module in the pack or of an extension module that comes with
        the interpreter, None for any other."""
        file = self.extensions.get(name)
        if file is not None:
            return self.extension(name, inside(file))
        entry = self.index.get(name)
        return None if entry is None else self.spec(name, entry[0])

    def extension(self, name, file):
        """The spec of an extension module, found without a look at any folder."""
        loader = sys.modules["_frozen_importlib_external"].ExtensionFileLoader(name, file)
        spec = type(sys.__spec__)(name, loader, origin=file)
        spec.has_location = True
        return spec

    def create_module(self, spec):
        """None: the ordinary way to make a module."""
        return None

    def exec_module(self, module):
        """Run the module's code in it."""
        name = module.__spec__.name
        module.__file__ = self.get_filename(name)
        exec(self.get_code(name), module.__dict__)

    def get_code(self, name):
        """The code object of a module."""
        _package, offset, size = self.index[name]
        return self.part(offset, size)

    def get_filename(self, name):
        """Where the module would lie as a file; the files beside it do lie there."""
        return inside(name.replace(".", "/") + ("/__init__.py" if self.index[name][0] else ".py"))

    def get_source(self, name):
        """None: the source is not shipped."""
        return None

    def is_package(self, name):
        """True for a package."""
        return self.index[name][0]


class Rest:
    """Finder of last resort for a hook: sets up PyInstaller's importer, then looks again."""

    def __init__(self, pack):
        self.pack = pack

    def find_spec(self, name, path=None, target=None):
        """As importlib's finders. A module that is nowhere in the bundle (another platform's, an optional
        one) is not worth the set-up."""
        if name not in self.pack.everything():
            return None
        sys.meta_path.remove(self)
        set_up_the_rest()
        for finder in sys.meta_path:
            if finder is not self.pack:
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    return spec
        return None


def set_up_the_rest():
    """PyInstaller's importer, as its own start sets it up; the variable tells it where its archive is."""
    import encodings

    import pyimod02_importers

    sys._pyinstaller_pyz = inside(MODULES) + "?0"
    pyimod02_importers.install()
    # base_library.zip holds only the codecs of the interpreter's start; the others are in the archive.
    encodings.__path__.append(inside("encodings"))
    # Folders that were looked at before were taken for plain ones.
    sys.path_importer_cache.clear()


def hook_program(pack, lane):
    """`ways.entry.main`, loaded with all that could fail to load before the hook's input is read."""
    sys.meta_path.append(Rest(pack))
    pack.run_unit(lane)
    import ways.lanes.dispatch  # noqa: F401
    from ways.entry import main

    return main


def finish(code):
    """End the process with this exit code once threads, exit functions and streams are done.

    The interpreter is not taken down: that costs time and frees what ends with the process anyway.
    """
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    import atexit

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            continue  # there is no such stream, or nobody reads it
    leave(code)


def leave(code):
    """End the process at once."""
    if sys.platform == "win32":
        import nt as system
    else:
        import posix as system
    system._exit(code)


def run(main, arguments):
    """Run the hook and end the process."""
    try:
        code = main(arguments)
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 0
    except KeyboardInterrupt:
        code = 130
    except BaseException:  # noqa: BLE001 - nobody is left above us to show it
        sys.excepthook(*sys.exc_info())
        code = 1
    finish(code)


def damaged(error, hook):
    """Say that the program cannot load its modules. A hook still ends well: its host has no part in it."""
    sys.stderr.write(f"ways: the program is damaged: {error}  Next: run the ways installer again\n")
    finish(0 if hook else 1)


def start(arguments):
    """Run what can be run from here; returns when the ordinary start has to go on."""
    if arguments == ["--noop"]:
        leave(0)
    hook = arguments[:1] == ["hook"]
    main = None
    sys.frozen = True
    try:
        pack = Pack(inside(PACK))
        # Behind the finders of what is part of the interpreter, before the one that looks at folders.
        sys.meta_path.insert(2, pack)
        if hook:
            # Loading modules makes many objects and no garbage: collecting it in between only costs time.
            import gc

            gc.set_threshold(50_000)
            main = hook_program(pack, arguments[1] if len(arguments) > 1 else "")
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told in one line
        damaged(error, hook)
    if main is not None:
        run(main, arguments)


start(sys.argv[1:])
