# What one types. Each target installs the Debian packages it needs (scripts/deps says which) and leaves everything else in build/.
BUILD := build
PREFIX ?= /usr

.DEFAULT_GOAL := help
.PHONY: help build run crowd test nightly lint bench bench-check deb install clean

help:
	@echo 'make run       build, then a gateway on http://localhost:8080 in front of a small demo shop'
	@echo '               PORT=18080: on another port, for make crowd as well'
	@echo '               STORE=valkey: with the line in a redis-server of its own; STORE=valkey://… in one that runs'
	@echo 'make crowd     send a bounded crowd of simulated visitors to that gateway'
	@echo 'make build     build/ngx_http_fairway_module.so and build/fairway'
	@echo 'make test      every test; scripts/test SUITE... runs some of them'
	@echo 'make nightly   the same with the long forms of the random ones: takes hours'
	@echo 'make lint      format, static analysis and the rules of the house'
	@echo 'make bench     the figures: speed side by side with the usual ways'
	@echo 'make bench-check  fails when a request costs more instructions than it did'
	@echo 'make deb       Debian packages in build/deb'
	@echo 'make install   module, its snippet and the command into nginx'"'"'s folders (PREFIX, DESTDIR)'
	@echo 'make clean     remove build/'

build:
	scripts/deps build
	cmake -S . -B $(BUILD) -G Ninja $(if $(wildcard $(BUILD)/CMakeCache.txt),,-DFAIRWAY_TESTS=OFF)
	cmake --build $(BUILD) --target ngx_http_fairway_module fairway

run: build
	scripts/deps run $(if $(filter valkey,$(STORE)),store)
	exec scripts/run

crowd: build
	scripts/deps run
	exec scripts/crowd

test:
	scripts/test

nightly:
	FAIRWAY_DIFF_OPERATIONS=1000000 FAIRWAY_FLOOD=1000000 FAIRWAY_LINE=1000000 FAIRWAY_SOAK=3600 FUZZ_SECONDS=3600 scripts/test
	scripts/test valgrind package

lint:
	scripts/lint

bench:
	scripts/bench

bench-check: build
	scripts/deps build run bench
	cd bench && /usr/bin/python3 check.py

deb:
	scripts/deb

install: build
	DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(PREFIX) --strip
	@echo 'To load it: ln -s /usr/share/nginx/modules-available/mod-http-fairway.conf /etc/nginx/modules-enabled/50-mod-http-fairway.conf, then restart nginx.'
	@echo 'Or a load_module line at the top of nginx.conf: one of the two, nginx does not load a module twice.'

clean:
	rm -rf $(BUILD)
